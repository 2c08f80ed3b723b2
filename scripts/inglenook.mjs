#!/usr/bin/env node
// The command line on whatever Node is there: the program itself needs Node 24.
import { join } from 'node:path';
import { NODE_24 } from './node-24.mjs';
import { ROOT, run } from './tree.mjs';

const { code } = await run(NODE_24, [join(ROOT, 'main/headless.ts'), ...process.argv.slice(2)]);
process.exitCode = code ?? 1;

#!/usr/bin/env node
// The command line on whatever Node is there: the program itself needs Node 24.
import { join } from 'node:path';
import { build } from './build.mjs';
import { NODE_24 } from './node-24.mjs';
import { ROOT, run } from './tree.mjs';

// What it serves to browsers and hands to other machines fits its sources.
const isStart = ['start', undefined].includes(process.argv[2]);
if (isStart && !(await build(['window', 'package']))) process.exit(1);
const { code } = await run(NODE_24, [join(ROOT, 'main/headless.ts'), ...process.argv.slice(2)]);
process.exitCode = code ?? 1;

#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { PACKAGE_ROOT, tuneGarbageCollector } from './platform/process.ts';

tuneGarbageCollector();

// From the second start on no types are stripped, which saves time and the stripper's memory.
const { directory } = enableCompileCache(join(PACKAGE_ROOT, 'node_modules/.cache/inglenook'));
// Read by worker threads.
if (directory !== undefined) process.env['NODE_COMPILE_CACHE'] = directory;

// Not awaited: inglenook.cjs loads this by `require`, which takes no module that awaits.
void import('./cli/cli.ts').then(({ runCli }) => runCli(process.argv.slice(2)));

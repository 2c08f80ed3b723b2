#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { tuneGarbageCollector } from './platform/process.ts';

tuneGarbageCollector();

// From the second start on no types are stripped, which saves time and the stripper's memory.
const { directory } = enableCompileCache(
  join(import.meta.dirname, '../node_modules/.cache/switchyard'),
);
// Read by worker threads.
if (directory !== undefined) process.env['NODE_COMPILE_CACHE'] = directory;

const { runCli } = await import('./cli/cli.ts');
await runCli(process.argv.slice(2));

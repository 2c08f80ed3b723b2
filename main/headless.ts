#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { tuneGarbageCollector } from './platform/process.ts';

tuneGarbageCollector();

// From the second start on no types are stripped: less to wait for and, without the stripper, less to hold.
const { directory } = enableCompileCache(
  join(import.meta.dirname, '../node_modules/.cache/switchyard'),
);
// Threads look here.
if (directory !== undefined) process.env['NODE_COMPILE_CACHE'] = directory;

const { runCli } = await import('./cli/cli.ts');
await runCli(process.argv.slice(2));

import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { llamaServer } from './test/engine/find-server.ts';
import { directoryOfRun } from './test/support/memory-directory.ts';
import { ProjectSequencer } from './test/support/sequencer.ts';

/** Tests of pages in Chromium. */
const WINDOW = [
  'test/e2e/*window*.test.ts',
  'test/renderer/*window.test.ts',
  'test/desktop/electron-smoke.test.ts',
];

/** Tests of whole programs: ours, npm's, the linter's. */
const E2E = [
  'test/{cli,deploy,e2e,rules}/**/*.test.ts',
  'test/desktop/{npm-start,packaging,packed}.test.ts',
];

/** Tests of a whole gateway and its upstreams on real sockets, and those that play long random histories. */
const INTEGRATION = ['test/{integration,properties,upstreams}/**/*.test.ts'];

/** Tests of the databases: files of SQLite, and a real PostgreSQL that several gateways share. */
const STORE = ['test/registry/store/**/*.test.ts'];

/** Tests of the HTTP interface, with the clients that people use. */
const CONTRACT = ['test/contract/**/*.test.ts'];

/** The same with clients that few need: `npm run clients` installs them. */
const CLIENTS = ['test/clients/*.test.ts'];
const hasClients = existsSync(join(import.meta.dirname, 'test/clients/node_modules'));
if (!hasClients) console.log('SKIPPED: test/clients; "npm run clients" installs and runs them.');

/** Tests in front of a real llama.cpp. */
const ENGINE = ['test/engine/*.test.ts'];
const hasEngine = llamaServer() !== null;
if (!hasEngine) {
  console.log(
    'SKIPPED: test/engine; no llama-server on the path, nor at INGLENOOK_TEST_LLAMA_SERVER.',
  );
}

/** Tests of the window's code, of which some is JSX. */
const RENDERER = ['test/renderer/**/*.test.ts'];

/** All other tests: a file that no list names is found here. */
const UNIT = ['test/**/*.test.ts'];

interface Project {
  readonly exclude?: string[];
  /** Files that run before its tests. */
  readonly globalSetup?: string[];
  /**
   * For pages and programs, whose timing is not ours alone: one more try, and the run says "UNSTEADY"
   * with what the first try said. Random histories have none: a second one would hide what the first found.
   */
  readonly retry?: number;
  /** Whether its files import JSX, which Node cannot read; all others run as Node runs them, which costs less. */
  readonly isOfJsx?: boolean;
}

function project(name: string, include: string[], { isOfJsx = false, ...rest }: Project = {}) {
  const experimental = { viteModuleRunner: isOfJsx };
  return { extends: true as const, test: { name, include, ...rest, experimental } };
}

/** Files in these lists run before the tests of a project. */
const BUILT = ['scripts/built.mjs'];
const POSTGRES = ['test/support/postgres-setup.ts'];

// Workers, and what they start, take it over.
process.env['TMPDIR'] ??= directoryOfRun();

export default defineConfig({
  test: {
    // No test leaves anything behind that the next one could meet, so files share a process.
    isolate: false,
    // For threads that tests start: their files are compiled once.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, '.cache/compile') },
    sequence: { shuffle: true, sequencer: ProjectSequencer },
    // Vitest keeps one processor for itself. One more than there are: many tests wait for programs and pages.
    maxWorkers: availableParallelism() + 1,
    // A test that waits for ever must fail; one on a machine that is busy with other work must not.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    projects: [
      // In this order, so that no long file is left when the others are done.
      project('window', WINDOW, { globalSetup: BUILT, retry: 1 }),
      project('e2e', E2E, { exclude: WINDOW, globalSetup: BUILT, retry: 1 }),
      ...(hasClients ? [project('clients', CLIENTS)] : []),
      ...(hasEngine ? [project('engine', ENGINE)] : []),
      project('store', STORE, { exclude: E2E, globalSetup: POSTGRES }),
      project('integration', INTEGRATION),
      project('contract', CONTRACT),
      project('renderer', RENDERER, { exclude: WINDOW, isOfJsx: true }),
      project('unit', UNIT, {
        exclude: [
          WINDOW,
          E2E,
          STORE,
          INTEGRATION,
          CONTRACT,
          ENGINE,
          RENDERER,
          'test/clients/**',
        ].flat(),
      }),
    ],
  },
});

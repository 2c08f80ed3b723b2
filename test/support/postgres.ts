import { afterAll, beforeAll } from 'vitest';
import { createPostgres } from './postgres-server.ts';
import { exitOnTerm } from './worker-end.ts';

export { PASSWORD, POSTGRES_SKIPPED } from './postgres-server.ts';

/** Starts a server before the tests of a file and stops it after them. */
export function usePostgres() {
  const server = createPostgres();
  exitOnTerm();
  beforeAll(() => server.begin());
  afterAll(() => server.end());
  return server;
}

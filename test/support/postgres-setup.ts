// Vitest runs this before tests of the databases.
export { shareTemplate as setup } from './postgres-server.ts';

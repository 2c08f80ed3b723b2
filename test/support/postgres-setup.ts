// Vitest runs this before laws of the databases.
export { shareTemplate as setup } from './postgres-server.ts';

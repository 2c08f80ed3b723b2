/** Vitest ends a worker by SIGTERM, after which no exit handler would run: those that clean up need this. */
export function exitOnTerm(): void {
  if (!process.listeners('SIGTERM').includes(exit)) process.on('SIGTERM', exit);
}

function exit(): void {
  process.exit();
}

import type { Database } from 'better-sqlite3';

type MigrationResult =
  { readonly kind: 'current' } | { readonly kind: 'newer'; readonly version: number };

/**
 * Step n sets `user_version` n. Runs each missing step in a transaction of its own. A step that fails throws and
 * leaves the file at the step before; a newer schema is left untouched.
 */
export function migrate(db: Database, migrations: readonly string[]): MigrationResult {
  const version = Number(db.pragma('user_version', { simple: true }));
  if (version > migrations.length) return { kind: 'newer', version };
  for (const [index, step] of migrations.entries()) {
    if (index < version) continue;
    db.transaction(() => {
      db.exec(step);
      db.pragma(`user_version = ${index + 1}`);
    }).immediate();
  }
  return { kind: 'current' };
}

/** Scripts of package.json that run this program from a clone, where no `switchyard` is on the path. */
const SCRIPTS: ReadonlySet<string | undefined> = new Set([
  'start',
  'start:headless',
  'demo',
  'switchyard',
]);

/** How a user calls the command line of this installation. */
export function ownCommand(env: Readonly<Record<string, string | undefined>>): string {
  return SCRIPTS.has(env['npm_lifecycle_event']) ? 'npm run switchyard --' : 'switchyard';
}

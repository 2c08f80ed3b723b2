import { existsSync, realpathSync } from 'node:fs';
import { join, sep } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { homeDirectory } from '../platform/files.ts';
import { PACKAGE_ROOT } from '../platform/process.ts';
import { run } from './run-program.ts';
import { printProgress } from './terminal.ts';

const NAME = packageJson.name;
const IS_WINDOWS = process.platform === 'win32';
/** Where the program lies below the prefix of npm's global packages. */
const FOLDER = join(IS_WINDOWS ? 'node_modules' : 'lib/node_modules', NAME);

type Installation = ReturnType<typeof thisInstallation>;

/** Where this program is. If npx runs it, that is where npm has yet to install it: the cache of npx does not last. */
export function thisInstallation(env: NodeJS.ProcessEnv) {
  const prefix = isRunByNpx ? prefixOfUser(env) : ownPrefix();
  if (!isRunByNpx || prefix === null)
    return { prefix, root: PACKAGE_ROOT, script: realpathSync(process.argv[1] ?? '') };
  const root = join(prefix, FOLDER);
  return { prefix, root, script: join(root, packageJson.bin.inglenook) };
}

const isRunByNpx = PACKAGE_ROOT.includes(`${sep}_npx${sep}`);

/** The prefix of npm's global packages; null in a clone. */
function ownPrefix(): string | null {
  const end = join(sep, FOLDER);
  return PACKAGE_ROOT.endsWith(end) ? PACKAGE_ROOT.slice(0, -end.length) : null;
}

/** The prefix that the installers of a gateway use, too. */
function prefixOfUser({ LOCALAPPDATA }: NodeJS.ProcessEnv): string {
  if (!IS_WINDOWS) return join(homeDirectory(), '.local');
  const folder = LOCALAPPDATA || join(homeDirectory(), 'AppData', 'Local');
  return join(folder, 'Programs', 'inglenook');
}

/** Installs the program for its user if npx runs it; null if it is installed. */
export async function installFirst(env: NodeJS.ProcessEnv): Promise<string | null> {
  if (!isRunByNpx) return null;
  printProgress('Installing Inglenook');
  return npm('install', prefixOfUser(env), `${NAME}@${packageJson.version}`);
}

/** Null if npm succeeded. */
function npm(verb: 'install' | 'uninstall', prefix: string, name: string): Promise<string | null> {
  const quiet = ['--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'];
  // On Windows npm is a script, which only a shell starts.
  const folder = IS_WINDOWS ? `"${prefix}"` : prefix;
  const args = [verb, '--global', '--prefix', folder, '--ignore-scripts', ...quiet, name];
  return run(['npm', ...args], IS_WINDOWS);
}

/** Removes what npm has installed; null if it is gone. */
export async function uninstallProgram({ root, prefix }: Installation): Promise<string | null> {
  if (!existsSync(root)) return `Inglenook is not installed in ${root}.`;
  if (prefix === null)
    return `Inglenook in ${root} was not installed by npm: delete that folder yourself.`;
  printProgress('Removing');
  const why = await npm('uninstall', prefix, NAME);
  return why === null ? null : `Inglenook could not be removed. ${why}`;
}

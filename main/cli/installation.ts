import { spawn } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { join, sep } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { PACKAGE_ROOT } from '../app/package.ts';
import { homeDirectory } from '../platform/files.ts';

/** Where this program is, or has to be installed first so that it lasts. */
export type Installation =
  | { readonly kind: 'lasting'; readonly root: string; readonly script: string }
  /** npx runs it from npm's cache, which anybody may empty. */
  | {
      readonly kind: 'cached';
      readonly root: string;
      readonly script: string;
      /** Why npm could not install this version; null once it has. */
      readonly install: () => Promise<string | null>;
    };

export function thisInstallation(env: NodeJS.ProcessEnv): Installation {
  const script = realpathSync(process.argv[1] ?? '');
  if (!PACKAGE_ROOT.includes(`${sep}_npx${sep}`)) {
    return { kind: 'lasting', root: PACKAGE_ROOT, script };
  }
  const prefix = prefixOfUser(env);
  const modules = process.platform === 'win32' ? 'node_modules' : 'lib/node_modules';
  const root = join(prefix, modules, packageJson.name);
  return {
    kind: 'cached',
    root,
    script: join(root, packageJson.bin.switchyard),
    install: () => installIn(prefix),
  };
}

/** Where the installers of a gateway put it, too. */
function prefixOfUser({ LOCALAPPDATA }: NodeJS.ProcessEnv): string {
  if (process.platform !== 'win32') return join(homeDirectory(), '.local');
  const folder = LOCALAPPDATA || join(homeDirectory(), 'AppData', 'Local');
  return join(folder, 'Programs', 'switchyard');
}

function installIn(prefix: string): Promise<string | null> {
  const isWindows = process.platform === 'win32';
  const quiet = ['--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'];
  const spec = `${packageJson.name}@${packageJson.version}`;
  // On Windows npm is a script, which only a shell starts.
  const folder = isWindows ? `"${prefix}"` : prefix;
  const args = ['install', '--global', '--prefix', folder, '--ignore-scripts', ...quiet, spec];
  return new Promise((resolve) => {
    const child = spawn('npm', args, { shell: isWindows, stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code) => resolve(code === 0 ? null : said.trim()));
  });
}

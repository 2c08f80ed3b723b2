import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, realpathSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, join, sep } from 'node:path';
import { ENV_PREFIX } from '../../config/schema.ts';
import { homeDirectory } from '../../platform/files.ts';
import { answer, type CommandOutcome, EXIT, failed, type Input } from '../command.ts';
import { logDirectory } from '../logs.ts';
import { findRunning } from '../running-app.ts';
import { withProgress } from '../terminal.ts';
import {
  launchdService,
  type CommandLine,
  type Program,
  type Service,
  scheduledTask,
  systemdService,
} from './managers.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { PACKAGE_ROOT } from '../../platform/process.ts';

export const ACTIONS = ['install', 'remove', 'status'] as const;

export async function service(input: Input): Promise<CommandOutcome> {
  const installation = thisInstallation(input.env);
  const own = serviceOfUser(programOf(installation, input), input);
  if (input.options['print'] === true) {
    return answer({ file: own.file, text: own.text }, own.text);
  }
  switch (input.words[0]) {
    case 'install':
      return install(own, input, installation);
    case 'remove':
      return remove(own);
    default:
      return status(own);
  }
}

function programOf({ script }: Installation, { env, dataDirectory }: Input): Program {
  const isChosen = Boolean(env[`${ENV_PREFIX}DATA_DIR`]?.trim());
  const command = [process.execPath, script, 'start'] as const;
  return { command, dataDirectory: isChosen ? dataDirectory : null };
}

function serviceOfUser(program: Program, { env, dataDirectory }: Input): Service {
  const { username, uid } = userInfo();
  const home = homeDirectory();
  switch (process.platform) {
    case 'darwin':
      return launchdService(program, { home, uid, logDirectory: logDirectory(dataDirectory) });
    case 'win32': {
      const user = env['USERDOMAIN'] ? `${env['USERDOMAIN']}\\${username}` : username;
      return scheduledTask(program, { user, dataDirectory });
    }
    default:
      return systemdService(program, env['XDG_CONFIG_HOME'] || join(home, '.config'));
  }
}

async function install(
  own: Service,
  { env, dataDirectory }: Input,
  installation: Installation,
): Promise<CommandOutcome> {
  const { file, text, encoding, note } = own;
  if (!existsSync(file) && (await findRunning(dataDirectory)) !== null) return failed(ALREADY_RUNS);
  const unreachable = await whyUnreachable(own);
  if (unreachable !== null) return failed(`${NO_MANAGER}\n${unreachable}`);
  const { isInstalled, prefix } = installation;
  if (!isInstalled && prefix !== null) {
    const work = npm('install', prefix, `${packageJson.name}@${packageJson.version}`);
    const why = await withProgress('Installing Inglenook', work);
    if (why !== null) return failed(`Inglenook could not be installed. ${why}`);
  }
  // Otherwise the process of an earlier installation would keep running, or block the new one.
  if (existsSync(file)) await runAll(own.remove);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, encoding === 'utf16le' ? `\uFEFF${text}` : text, encoding);
  const failure = await withProgress('Starting the service', runAll(own.install));
  if (failure !== null) {
    return failed(
      `${file} is written, but the service does not start.\n${failure}\nSee ${own.log}`,
    );
  }
  const lines = [`Installed ${file}; the service is running.`, note, ...unseenVariables(env)];
  return answer({ file, notes: lines.slice(1) }, lines.join('\n'));
}

const ALREADY_RUNS =
  'A gateway is already running with this data directory: stop it first, so that the service can take its place.';

const NO_MANAGER =
  'No service was installed, because systemd cannot be reached here. Configure the service manager of this system to run "inglenook start" instead.';

/** Null if the manager answers. */
async function whyUnreachable({ reachable }: Service): Promise<string | null> {
  return reachable === null ? null : runAll([reachable]);
}

/** A service does not get the variables of this shell. */
function unseenVariables(env: NodeJS.ProcessEnv): readonly string[] {
  const names = Object.keys(env).filter(
    (name) => name.startsWith(ENV_PREFIX) && name !== `${ENV_PREFIX}DATA_DIR`,
  );
  if (names.length === 0) return [];
  return [
    `The service does not inherit ${names.join(', ')} from this shell: use "inglenook set" instead.`,
  ];
}

async function remove(own: Service): Promise<CommandOutcome> {
  const { file } = own;
  if (!existsSync(file)) return answer({ removed: null }, `There is no service ${file}.`);
  // If the manager does not run, neither does the service.
  const isManaged = (await whyUnreachable(own)) === null;
  const failure = isManaged ? await withProgress('Stopping the service', runAll(own.remove)) : null;
  if (failure !== null)
    return failed(`${file} is still there, because it could not be stopped.\n${failure}`);
  rmSync(file);
  const said = `Removed ${file}. Settings and keys stay in the data directory.`;
  return answer({ removed: file }, said);
}

/** Removes the user's service if it runs this program; null if there is none. */
async function removeOwnService(input: Input): Promise<CommandOutcome | null> {
  const program = programOf(thisInstallation(input.env), input);
  const own = serviceOfUser(program, input);
  const [, script = ''] = program.command;
  const isOwn = existsSync(own.file) && readFileSync(own.file, own.encoding).includes(script);
  return isOwn ? remove(own) : null;
}

async function status({ file, isActive, log }: Service): Promise<CommandOutcome> {
  const isInstalled = existsSync(file);
  const isRunning = isInstalled && (await runAll([isActive])) === null;
  const data = { file, isInstalled, isRunning };
  if (!isInstalled) return answer(data, 'The service is not installed.', EXIT.failed);
  if (isRunning) return answer(data, `The service is running (${file}). Its log: ${log}`);
  return answer(
    data,
    `The service is installed (${file}) but not running: see ${log}`,
    EXIT.failed,
  );
}

/** What the first command that failed says; null if all succeeded. */
async function runAll(commands: readonly CommandLine[]): Promise<string | null> {
  for (const command of commands) {
    const failure = await run(command);
    if (failure !== null) return failure;
  }
  return null;
}

/** Null if the command succeeded. */
function run([command, ...args]: CommandLine, shell = false): Promise<string | null> {
  const line = [command, ...args].join(' ');
  return new Promise((settle) => {
    const child = spawn(command, args, {
      shell,
      stdio: ['ignore', 'pipe', 'pipe'],
      windowsHide: true,
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.on('error', ({ message }) => settle(`"${line}" cannot be run: ${message}`));
    child.on('close', (code) =>
      settle(code === 0 ? null : `"${line}" failed (${code ?? 'killed'}): ${output.trim()}`),
    );
  });
}

/** Where this program is, or where npm has to install it first so that it lasts: anybody may empty the cache of npx. */
interface Installation {
  /** Of npm's global packages; null in a clone. */
  readonly prefix: string | null;
  readonly root: string;
  readonly script: string;
  readonly isInstalled: boolean;
}

const MODULES = process.platform === 'win32' ? 'node_modules' : 'lib/node_modules';

function thisInstallation(env: NodeJS.ProcessEnv): Installation {
  if (PACKAGE_ROOT.includes(`${sep}_npx${sep}`)) {
    const prefix = prefixOfUser(env);
    const root = join(prefix, MODULES, packageJson.name);
    return { prefix, root, script: join(root, packageJson.bin.inglenook), isInstalled: false };
  }
  const end = join(sep, MODULES, packageJson.name);
  return {
    prefix: PACKAGE_ROOT.endsWith(end) ? PACKAGE_ROOT.slice(0, -end.length) : null,
    root: PACKAGE_ROOT,
    script: realpathSync(process.argv[1] ?? ''),
    isInstalled: true,
  };
}

/** Where the installers of a gateway put it, too. */
function prefixOfUser({ LOCALAPPDATA }: NodeJS.ProcessEnv): string {
  if (process.platform !== 'win32') return join(homeDirectory(), '.local');
  const folder = LOCALAPPDATA || join(homeDirectory(), 'AppData', 'Local');
  return join(folder, 'Programs', 'inglenook');
}

/** Null if npm succeeded. */
function npm(verb: 'install' | 'uninstall', prefix: string, name: string): Promise<string | null> {
  const isWindows = process.platform === 'win32';
  const quiet = ['--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'];
  // On Windows npm is a script, which only a shell starts.
  const folder = isWindows ? `"${prefix}"` : prefix;
  const args = [verb, '--global', '--prefix', folder, '--ignore-scripts', ...quiet, name];
  return run(['npm', ...args], isWindows);
}

/** Removes this program, as npm installed it, and its service, but not its settings. */
export async function runUninstall(input: Input): Promise<CommandOutcome> {
  const { dataDirectory } = input;
  const removedService = await removeOwnService(input);
  if (removedService?.kind === 'failed') return removedService;
  const running = await findRunning(dataDirectory);
  if (running !== null) return failed(`Inglenook is running at ${running.url}: stop it first.`);
  const { root, prefix } = thisInstallation(input.env);
  if (!existsSync(root)) return failed(`Inglenook is not installed in ${root}.`);
  if (prefix === null)
    return failed(`Inglenook in ${root} was not installed by npm: delete that folder yourself.`);
  const failure = await withProgress('Removing', npm('uninstall', prefix, packageJson.name));
  if (failure !== null) return failed(`Inglenook could not be removed. ${failure}`);
  const lines = [
    ...(removedService === null ? [] : ['Removed its service']),
    `Removed ${root}`,
    ...(existsSync(dataDirectory) ? [`Settings and keys are still in ${dataDirectory}.`] : []),
  ];
  return answer({ removed: root, dataDirectory }, lines.join('\n'));
}

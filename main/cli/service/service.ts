import { existsSync, readFileSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { ENV_PREFIX } from '../../config/schema.ts';
import { homeDirectory } from '../../platform/files.ts';
import { answer, type CommandOutcome, EXIT, failed, type Input } from '../command.ts';
import { installFirst, thisInstallation, uninstallProgram } from '../installation.ts';
import { logDirectory } from '../logs.ts';
import { type CommandLine, run } from '../run-program.ts';
import { findRunning } from '../running-app.ts';
import { printProgress } from '../terminal.ts';
import {
  launchdService,
  type Program,
  type Service,
  scheduledTask,
  systemdService,
} from './managers.ts';
import { OWN_COMMAND } from '../../platform/process.ts';

export async function service(input: Input): Promise<CommandOutcome> {
  const own = serviceOfUser(input);
  if (input.options['print'] === true) {
    return answer({ file: own.file, text: own.text }, own.text);
  }
  switch (input.words[0]) {
    case 'install':
      return install(own, input);
    case 'remove':
      return remove(own);
    default:
      return status(own);
  }
}

function serviceOfUser({ env, dataDirectory }: Input): Service {
  const isChosen = Boolean(env[`${ENV_PREFIX}DATA_DIR`]?.trim());
  const program: Program = {
    command: [process.execPath, thisInstallation(env).script, 'start'],
    dataDirectory: isChosen ? dataDirectory : null,
  };
  const { username, uid } = userInfo();
  const home = homeDirectory();
  switch (process.platform) {
    case 'darwin':
      return launchdService(program, home, uid, logDirectory(dataDirectory));
    case 'win32': {
      const user = env['USERDOMAIN'] ? `${env['USERDOMAIN']}\\${username}` : username;
      return scheduledTask(program, user, dataDirectory);
    }
    default:
      return systemdService(program, env['XDG_CONFIG_HOME'] || join(home, '.config'));
  }
}

async function install(own: Service, { env, dataDirectory }: Input): Promise<CommandOutcome> {
  const { file, text, encoding, note } = own;
  if (!existsSync(file) && (await findRunning(dataDirectory)) !== null) return failed(ALREADY_RUNS);
  const unreachable = await runAll(own.reachable);
  if (unreachable !== null) return failed(`${NO_MANAGER}\n${unreachable}`);
  const why = await installFirst(env);
  if (why !== null) return failed(`Inglenook could not be installed. ${why}`);
  // Otherwise the process of an earlier installation would keep running, or block the new one.
  if (existsSync(file)) await runAll(own.remove);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, encoding === 'utf16le' ? `\uFEFF${text}` : text, encoding);
  printProgress('Starting the service');
  const failure = await runAll(own.install);
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

const NO_MANAGER = `No service was installed, because systemd cannot be reached here. Configure the service manager of this system to run "${OWN_COMMAND} start" instead.`;

/** A service does not get the variables of this shell. */
function unseenVariables(env: NodeJS.ProcessEnv): readonly string[] {
  const names = Object.keys(env).filter(
    (name) => name.startsWith(ENV_PREFIX) && name !== `${ENV_PREFIX}DATA_DIR`,
  );
  if (names.length === 0) return [];
  return [
    `The service does not inherit ${names.join(', ')} from this shell: use "${OWN_COMMAND} set" instead.`,
  ];
}

async function remove(own: Service): Promise<CommandOutcome> {
  const { file } = own;
  if (!existsSync(file)) return answer({ removed: null }, `There is no service ${file}.`);
  // If the manager does not run, neither does the service.
  const isManaged = (await runAll(own.reachable)) === null;
  if (isManaged) printProgress('Stopping the service');
  const failure = isManaged ? await runAll(own.remove) : null;
  if (failure !== null)
    return failed(`${file} is still there, because it could not be stopped.\n${failure}`);
  rmSync(file);
  const said = `Removed ${file}. Settings and keys stay in the data directory.`;
  return answer({ removed: file }, said);
}

/** Removes the user's service if it runs this program; null if there is none. */
async function removeOwnService(input: Input): Promise<CommandOutcome | null> {
  const own = serviceOfUser(input);
  const { script } = thisInstallation(input.env);
  const isOwn = existsSync(own.file) && readFileSync(own.file, own.encoding).includes(script);
  return isOwn ? remove(own) : null;
}

async function status({ file, isActive, log }: Service): Promise<CommandOutcome> {
  const isInstalled = existsSync(file);
  const isRunning = isInstalled && (await runAll([isActive])) === null;
  const data = { file, isInstalled, isRunning };
  if (!isInstalled) return answer(data, 'The service is not installed.', { exitCode: EXIT.failed });
  if (isRunning) return answer(data, `The service is running (${file}). Its log: ${log}`);
  return answer(data, `The service is installed (${file}) but not running: see ${log}`, {
    exitCode: EXIT.failed,
  });
}

/** What the first command that failed says; null if all succeeded. */
async function runAll(commands: readonly CommandLine[]): Promise<string | null> {
  for (const command of commands) {
    const failure = await run(command);
    if (failure !== null) return failure;
  }
  return null;
}

/** Removes this program, as npm installed it, and its service, but not its settings. */
export async function runUninstall(input: Input): Promise<CommandOutcome> {
  const { env, dataDirectory } = input;
  const removedService = await removeOwnService(input);
  if (removedService?.kind === 'failed') return removedService;
  const running = await findRunning(dataDirectory);
  if (running !== null) return failed(`Inglenook is running at ${running.url}: stop it first.`);
  const installation = thisInstallation(env);
  const { root } = installation;
  const why = await uninstallProgram(installation);
  if (why !== null) return failed(why);
  const lines = [
    ...(removedService === null ? [] : ['Removed its service']),
    `Removed ${root}`,
    ...(existsSync(dataDirectory) ? [`Settings and keys are still in ${dataDirectory}.`] : []),
  ];
  return answer({ removed: root, dataDirectory }, lines.join('\n'));
}

import { existsSync, readlinkSync, realpathSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { answer, type CommandOutcome, failed, type Input } from './command.ts';
import { findRunning } from './running-app.ts';
import { removeOwnService, thisInstallation } from './service/service.ts';

/** Removes this program and its service, but not its settings. */
export async function runUninstall(input: Input): Promise<CommandOutcome> {
  const { dataDirectory } = input;
  const service = await removeOwnService(input);
  if (service?.kind === 'failed') return service;
  const running = await findRunning(dataDirectory);
  if (running !== null) return failed(`Switchyard is running at ${running.url}: stop it first.`);
  const done = uninstall(thisInstallation(input.env).root, process.platform);
  if (done.kind === 'refused') return failed(done.why);
  const removed = service === null ? [] : ['Removed its service'];
  const lines = [...removed, ...done.paths.map((path) => `Removed ${path}`)];
  const rest = existsSync(dataDirectory)
    ? [`Settings and keys are still in ${dataDirectory}.`]
    : [];
  return answer({ removed: done.paths, dataDirectory }, [...lines, ...rest].join('\n'));
}

type Uninstalled =
  | { readonly kind: 'removed'; readonly paths: readonly string[] }
  /** `why` says what to do instead. */
  | { readonly kind: 'refused'; readonly why: string };

/** Removes the package that `npm install --global` or `--prefix` put at `root`, and its command. */
function uninstall(root: string, platform: NodeJS.Platform): Uninstalled {
  const modules = dirname(root);
  const isWindows = platform === 'win32';
  const above = dirname(modules);
  const isGlobal = basename(modules) === 'node_modules' && (isWindows || basename(above) === 'lib');
  if (!existsSync(root)) {
    return { kind: 'refused', why: `Switchyard is not installed in ${root}.` };
  }
  if (!isGlobal) {
    const why = `Switchyard in ${root} was not installed by npm: delete that folder yourself.`;
    return { kind: 'refused', why };
  }
  const prefix = isWindows ? above : dirname(above);
  const commands = isWindows
    ? ['switchyard', 'switchyard.cmd', 'switchyard.ps1'].map((name) => join(prefix, name))
    : [join(prefix, 'bin/switchyard')].filter((path) => pointsInto(path, root));
  const paths = [...commands.filter((path) => existsSync(path)), root];
  for (const path of paths) rmSync(path, { recursive: true, force: true });
  return { kind: 'removed', paths };
}

/** Whether the command is this installation's own. */
function pointsInto(link: string, root: string): boolean {
  try {
    return resolve(realpathSync(dirname(link)), readlinkSync(link)).startsWith(root);
  } catch {
    return false;
  }
}

import { existsSync } from 'node:fs';
import { answer, type CommandOutcome, failed, type Input } from './command.ts';
import { thisInstallation, uninstallProgram } from './installation.ts';
import { findRunning } from './running-app.ts';
import { removeOwnService } from './service/service.ts';

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

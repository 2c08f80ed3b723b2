import { uninstall } from '../app/uninstall.ts';
import { PACKAGE_ROOT } from '../platform/package-root.ts';
import type { Input } from './command.ts';
import { answer, failed, type Outcome } from './outcome.ts';
import { findRunning } from './running-app.ts';
import { removeOwnService } from './service/service.ts';

/** Removes this program and its service, but no settings. */
export async function runUninstall(input: Input): Promise<Outcome> {
  const { dataDirectory } = input;
  const service = await removeOwnService(input);
  if (service?.kind === 'failed') return service;
  const running = findRunning(dataDirectory);
  if (running !== null) return failed(`Switchyard runs at ${running.url}: stop it first.`);
  const done = uninstall(PACKAGE_ROOT, process.platform);
  if (done.kind === 'refused') return failed(done.why);
  const removed = service === null ? [] : ['Removed its service'];
  const lines = [...removed, ...done.paths.map((path) => `Removed ${path}`)];
  const text = [...lines, `Settings and keys are still in ${dataDirectory}.`].join('\n');
  return answer({ removed: done.paths, dataDirectory }, text);
}

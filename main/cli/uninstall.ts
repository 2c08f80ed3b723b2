import { uninstall } from '../app/uninstall.ts';
import { PACKAGE_ROOT } from '../platform/package-root.ts';
import { findRunning } from './running-app.ts';

/** Removes this program, but no settings; exit code 1 where it runs or was not installed. */
export function runUninstall(dataDirectory: string): void {
  const running = findRunning(dataDirectory);
  const done =
    running === null
      ? uninstall(PACKAGE_ROOT, process.platform)
      : { kind: 'refused' as const, why: `Switchyard runs at ${running.url}: stop it first.` };
  if (done.kind === 'refused') {
    process.stderr.write(`${done.why}\n`);
    process.exitCode = 1;
    return;
  }
  for (const path of done.paths) process.stdout.write(`Removed ${path}\n`);
  process.stdout.write(`Settings and keys are still in ${dataDirectory}.\n`);
}

import type { AppFace } from './electron-face.ts';

/**
 * Makes quitting wait for running requests. A second quit ends at once, and so does one before the
 * host runs.
 */
export function holdQuit(
  app: Pick<AppFace, 'on' | 'exit'>,
  running: () => { stop(): Promise<void> } | null,
): void {
  let phase: 'running' | 'stopping' = 'running';
  app.on('before-quit', (event) => {
    event.preventDefault();
    const ours = phase === 'running' ? running() : null;
    phase = 'stopping';
    // exit() asks no window whether it may close: ours would refuse and hide.
    if (ours === null) app.exit(0);
    else
      ours.stop().then(
        () => app.exit(0),
        () => app.exit(1),
      );
  });
}

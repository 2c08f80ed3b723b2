import type { AppFace } from './electron-face.ts';

/** Throws when the window would not be kept apart from this computer. */
export function refuseUnsandboxed(
  app: Pick<AppFace, 'commandLine'>,
  env: Readonly<Record<string, string | undefined>>,
): void {
  const off = app.commandLine.hasSwitch('no-sandbox')
    ? '--no-sandbox'
    : env['ELECTRON_DISABLE_SANDBOX'] === undefined
      ? null
      : 'ELECTRON_DISABLE_SANDBOX';
  if (off === null) return;
  throw new Error(
    `${off} switches off the protection between the window and this computer. ` +
      'Leave it out, or run Switchyard without a window: npm run start:headless',
  );
}

/** What happened and what to do, for the box that is shown before Switchyard gives up. */
export function startFailure(error: unknown): string {
  const what = error instanceof Error ? error.message : String(error);
  return `${what}\n\nNothing is running now. Put that right and start Switchyard again.`;
}

import type { ElectronFace } from './electron-face.ts';
import type { HostFace } from './host-face.ts';
import { holdQuit } from './quit.ts';
import { openShell, type Shell } from './shell.ts';
import { refuseUnsandboxed, startFailure } from './start-guard.ts';

export interface DesktopDeps {
  readonly electron: ElectronFace;
  /** Called first of all: the single-instance lock lies in the directory that it sets. */
  readonly claimData: () => void;
  /** Called in the first instance only; throws with a message for people. */
  readonly createHost: () => HostFace | Promise<HostFace>;
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly iconsDirectory: string;
  readonly hasTrayPanel: () => Promise<boolean>;
}

/** Runs the desktop shell around one host; settles once it is up, or has given up. */
export async function runDesktop(deps: DesktopDeps): Promise<void> {
  const { app, dialog } = deps.electron;
  try {
    refuseUnsandboxed(app, deps.env);
    deps.claimData();
  } catch (error) {
    giveUp(error);
    return;
  }
  app.enableSandbox();
  if (!app.requestSingleInstanceLock()) {
    app.quit();
    return;
  }

  let shell: Shell | null = null;
  const open = (): void => shell?.window.open();
  app.on('second-instance', open);
  app.on('activate', open);
  // Without a listener Electron quits when the last window is gone, and the gateway with it.
  app.on('window-all-closed', () => undefined);
  holdQuit(app, () => shell);

  await app.whenReady();
  try {
    const host = await deps.createHost();
    shell = openShell(deps, host, await host.start());
    open();
  } catch (error) {
    giveUp(error);
  }

  function giveUp(error: unknown): void {
    dialog.showErrorBox('Switchyard could not start', startFailure(error));
    app.exit(1);
  }
}

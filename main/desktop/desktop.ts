import type { AppApi, ElectronApi, HostApi } from './electron-api.ts';
import { attachedMenu } from './menus.ts';
import { openShell, type Shell } from './shell.ts';
import { createMainWindow } from './window.ts';

interface DesktopDeps {
  readonly electron: ElectronApi;
  /** Called first, because the single-instance lock lies in the directory that it sets. */
  readonly claimData: () => void;
  /** Called in the first instance only; throws with a message for people. */
  readonly compose: () => Composed | Promise<Composed>;
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly iconsDirectory: string;
  readonly hasTrayPanel: () => Promise<boolean>;
}

/** What the window is to show. */
export type Composed =
  | { readonly kind: 'own'; readonly host: HostApi }
  /** A gateway that another process runs; `link` opens its page with control, once. */
  | { readonly kind: 'elsewhere'; readonly link: string };

/** Runs the desktop shell around one host; settles once it has started or failed to. */
export async function runDesktop(deps: DesktopDeps): Promise<void> {
  const { app, dialog } = deps.electron;
  try {
    refuseUnsandboxed(app, deps.env);
    deps.claimData();
  } catch (error) {
    fail(error);
    return;
  }
  app.enableSandbox();
  if (!app.requestSingleInstanceLock()) {
    app.quit();
    return;
  }

  let shell: Shell | null = null;
  let open = (): void => shell?.window.open();
  app.on('second-instance', () => open());
  app.on('activate', () => open());
  // Without a listener Electron quits with the last window, and the gateway with it.
  app.on('window-all-closed', () => undefined);
  holdQuit(app, () => shell);

  await app.whenReady();
  try {
    const composed = await deps.compose();
    if (composed.kind === 'own') {
      shell = openShell(deps, composed.host, await composed.host.start());
    } else open = attach(deps, composed.link);
    open();
  } catch (error) {
    fail(error);
  }

  function fail(error: unknown): void {
    dialog.showErrorBox('Switchyard could not start', startFailure(error));
    app.exit(1);
  }
}

/** The window of a gateway that runs in another process; no tray, and the app ends with the window. */
function attach(deps: DesktopDeps, link: string): () => void {
  const { electron, platform, iconsDirectory } = deps;
  const ownOrigin = new URL(link).origin;
  const window = createMainWindow({
    electron,
    iconsDirectory,
    ownOrigin,
    controlLink: () => link,
    hasTrayPanel: null,
  });
  electron.app.on('window-all-closed', () => electron.app.exit(0));
  electron.Menu.setApplicationMenu(electron.Menu.buildFromTemplate(attachedMenu(platform)));
  return () => window.open();
}

/**
 * Makes quitting wait for running requests. A second quit ends the app at once, and so does one before the host
 * runs.
 */
function holdQuit(
  app: Pick<AppApi, 'on' | 'exit'>,
  running: () => { stop(): Promise<void> } | null,
): void {
  let phase: 'running' | 'stopping' = 'running';
  app.on('before-quit', (event) => {
    event.preventDefault();
    const ours = phase === 'running' ? running() : null;
    phase = 'stopping';
    // exit() closes windows without asking them; ours would only hide.
    if (ours === null) app.exit(0);
    else
      ours.stop().then(
        () => app.exit(0),
        () => app.exit(1),
      );
  });
}

/** Throws if the window's sandbox is switched off. */
function refuseUnsandboxed(
  app: Pick<AppApi, 'commandLine'>,
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

function startFailure(error: unknown): string {
  const what = error instanceof Error ? error.message : String(error);
  return `${what}\n\nNothing is running now. Fix that and start Switchyard again.`;
}

import type * as Electron from 'electron';
import { HIDDEN_SWITCH, relaunchArgs, startAction } from './command-line.ts';
import { crashLoop, createCrashHandler, startOrAsk } from './failures.ts';
import { appMenu } from './menus.ts';
import { openShell, type OwnHost, type Shell, type ShellDeps } from './shell.ts';
import { messageOf } from '../platform/errors.ts';
import { type AppExit, handleExit, watchSession } from './power.ts';
import { createMainWindow, type WindowView } from './window.ts';

interface DesktopDeps extends ShellDeps {
  /** Called first, because the single-instance lock is in the directory that it sets. */
  readonly claimData: () => void;
  /** Called in the first instance only; throws with a human-readable message. */
  readonly compose: () => Composed | Promise<Composed>;
  /** Calls the listener for an uncaught error. */
  readonly onUncaught: (listener: (error: unknown) => void) => void;
  /** Calls the listener when the system asks this process to exit. */
  readonly onTerminated: (listener: () => void) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly versions: Versions;
  /** Where the owner can correct a setting that prevents the start. */
  readonly dataDirectory: string;
}

interface Versions {
  readonly app: string;
  readonly electron?: string | undefined;
  readonly chrome?: string | undefined;
  readonly node: string;
}

export type Composed =
  | ({ readonly kind: 'own' } & OwnHost)
  /** A gateway in another process; `link` opens its page with control, once. */
  | { readonly kind: 'elsewhere'; readonly link: string };

/** Runs the desktop shell around one host; settles once it has started or failed to start. */
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
  // Windows groups taskbar entries and toasts by this id, which electron-builder.yml repeats.
  app.setAppUserModelId('io.github.inglenook');
  const action = startAction(deps.argv);
  // A first instance that is asked to quit has nothing to stop, and a second one has passed its arguments on.
  if (!app.requestSingleInstanceLock() || action === 'quit') {
    app.quit();
    return;
  }

  let shell: Shell | null = null;
  /** The view requested before the window could be opened. */
  let asked: WindowView | 'window' | null = null;
  let open = (view: WindowView | null): void => {
    asked = view ?? 'window';
  };
  const end = handleExit(deps.electron, deps.clock, () => shell);
  listen(deps, end, (view) => open(view));

  app.setAboutPanelOptions({
    applicationName: 'Inglenook',
    applicationVersion: versionText(deps.versions),
    copyright: 'MIT licensed',
  });

  const isWindowOpen = () => shell?.window.isShown() ?? false;
  deps.onUncaught(createCrashHandler({ ...deps, app, file: deps.crashFile, isWindowOpen }));

  await app.whenReady();
  watchSession(deps, end);
  const isHidden = isStartedHidden(app);
  if (isHidden) app.dock?.hide();
  let crashed = crashLoop(deps.crashFile, deps.clock.now());
  const how = await startOrAsk(deps, async () => {
    const problem = crashed;
    crashed = null;
    if (problem !== null) throw problem;
    const composed = await deps.compose();
    if (composed.kind === 'own') {
      const { window } = (shell = openShell(deps, composed, await composed.host.start(), end));
      open = (view) => window.open(view);
    } else if (isHidden && asked === null) app.exit(0);
    else open = attach(deps, composed.link);
  });
  if (how === 'quit') {
    app.exit(1);
    return;
  }
  if (asked !== null) open(asked === 'window' ? null : asked);
  else if (!isHidden) open(action);

  function fail(error: unknown): void {
    dialog.showErrorBox('Inglenook could not start', startFailure(error));
    app.exit(1);
  }
}

function listen(deps: DesktopDeps, end: AppExit, open: (view: WindowView | null) => void): void {
  const { app } = deps.electron;
  let isRelaunching = false;
  app.on('second-instance', (_event, argv) => {
    const action = startAction(argv);
    if (action === 'quit') app.quit();
    else if (end.isQuitting()) {
      if (!isRelaunching) app.relaunch({ args: relaunchArgs(deps.argv, action) });
      isRelaunching = true;
    } else if (!argv.includes(`--${HIDDEN_SWITCH}`)) open(action);
  });
  app.on('activate', () => open(null));
  // Without a listener Electron quits with the last window, and the gateway with it.
  app.on('window-all-closed', () => undefined);
}

/** The window of a gateway that runs in another process; there is no tray, and the app exits with the window. */
function attach(deps: DesktopDeps, link: string): (view?: WindowView | null) => void {
  const { electron, platform, iconsDirectory, preferences } = deps;
  const window = createMainWindow({
    electron,
    platform,
    iconsDirectory,
    ownOrigin: new URL(link).origin,
    controlLink: () => link,
    canHide: null,
    preferences,
    log: () => undefined,
    onGone: () => electron.app.exit(1),
  });
  electron.app.on('window-all-closed', () => electron.app.exit(0));
  electron.Menu.setApplicationMenu(electron.Menu.buildFromTemplate(appMenu(platform, null)));
  return (view) => window.open(view);
}

/** Whether the system started the app at login, which opens no window. */
function isStartedHidden(app: Pick<Electron.App, 'commandLine' | 'getLoginItemSettings'>): boolean {
  return app.commandLine.hasSwitch(HIDDEN_SWITCH) || app.getLoginItemSettings().wasOpenedAtLogin;
}

/** Throws if a switch disables the window's sandbox. */
function refuseUnsandboxed(
  app: Pick<Electron.App, 'commandLine'>,
  env: Readonly<Record<string, string | undefined>>,
): void {
  const off = app.commandLine.hasSwitch('no-sandbox')
    ? '--no-sandbox'
    : env['ELECTRON_DISABLE_SANDBOX'] === undefined
      ? null
      : 'ELECTRON_DISABLE_SANDBOX';
  if (off === null) return;
  throw new Error(
    `${off} disables the sandbox that protects this computer from the window. ` +
      'Leave it out, or run Inglenook without a window: npm run start:headless',
  );
}

const versionText = ({ app, electron, chrome, node }: Versions) =>
  `${app} (Electron ${electron ?? '-'}, Chromium ${chrome ?? '-'}, Node ${node})`;

function startFailure(error: unknown): string {
  return `${messageOf(error)}\n\nInglenook is not running. Fix this and start it again.`;
}

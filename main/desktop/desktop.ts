import { messageOf } from '../platform/errors.ts';
import { HIDDEN_SWITCH, relaunchArgs, startAction } from './command-line.ts';
import { crashLoop, createCrashHandler, startOrAsk } from './failures.ts';
import { type AppExit, handleExit } from './power.ts';
import { openShell, type OwnHost, type Shell } from './shell.ts';
import type { ShellDeps } from './system.ts';
import type { WindowView } from './window.ts';

interface DesktopDeps extends ShellDeps {
  /** Called first, because the single-instance lock is in the directory that it sets. */
  readonly claimData: () => void;
  /** Called in the first instance only; throws with a human-readable message. */
  readonly compose: () => Promise<GatewayPlace>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where the owner can correct a setting that prevents the start. */
  readonly dataDirectory: string;
}

export type GatewayPlace =
  | ({ readonly kind: 'own' } & OwnHost)
  /** A gateway in another process; `link` opens its page with control, once. */
  | { readonly kind: 'elsewhere'; readonly link: string };

/** Runs the desktop shell around one host; settles once it has started or failed to start. */
export async function runDesktop(deps: DesktopDeps): Promise<void> {
  const { app, dialog, shell: system } = deps.electron;
  const refusal = whyNotStart(deps);
  if (refusal !== null) {
    // Linux shows no box before Electron is ready; until then no page can run either.
    await app.whenReady();
    dialog.showErrorBox('Inglenook could not start', refusal);
    app.exit(1);
    return;
  }
  app.enableSandbox();
  // The window would take memory from the GPU that this program is there to serve.
  app.disableHardwareAcceleration();
  // Windows groups taskbar entries and toasts by this id, which electron-builder.yml repeats.
  app.setAppUserModelId('io.github.inglenook');
  const action = startAction(deps.argv);
  // A first instance that is asked to quit has nothing to stop, and a second one has passed its arguments on.
  if (!app.requestSingleInstanceLock() || action === 'quit') {
    app.quit();
    return;
  }

  let shell: Shell | null = null;
  /** The view that was asked for before the window could be opened. */
  let wanted = null as { readonly view: WindowView | null } | null;
  function open(view: WindowView | null): void {
    if (shell === null) wanted = { view };
    else shell.window.open(view);
  }
  const end = handleExit(deps, () => shell);
  listen(deps, end, open);
  const isWindowOpen = () => shell?.window.isShown() ?? false;
  const crash = createCrashHandler(deps, isWindowOpen);
  deps.events.on('uncaughtException', crash).on('unhandledRejection', crash);

  await app.whenReady();
  end.watchSession();
  if (isStartedHidden(deps)) app.dock?.hide();
  else open(action);
  let crashed = crashLoop(deps.crashFile, deps.clock.now());
  const how = await startOrAsk(deps, async () => {
    const problem = crashed;
    crashed = null;
    if (problem !== null) throw problem;
    const composed = await deps.compose();
    if (composed.kind === 'own')
      shell = openShell(deps, composed, await composed.host.start(), end);
    else {
      // A process of its own would have nothing to do but to show what a browser shows as well.
      if (wanted !== null) await system.openExternal(composed.link);
      app.exit(0);
    }
  });
  if (how === 'quit') app.exit(1);
  else if (wanted !== null) open(wanted.view);
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

/** Whether the system started the app at login, which opens no window. */
function isStartedHidden({ electron: { app }, platform }: DesktopDeps): boolean {
  if (app.commandLine.hasSwitch(HIDDEN_SWITCH)) return true;
  return platform === 'darwin' && app.getLoginItemSettings().wasOpenedAtLogin;
}

/** The window's sandbox is switched off, or the data directory cannot be used; null if neither. */
function whyNotStart({ electron: { app }, env, claimData }: DesktopDeps): string | null {
  const off = app.commandLine.hasSwitch('no-sandbox') ? '--no-sandbox' : 'ELECTRON_DISABLE_SANDBOX';
  if (off === '--no-sandbox' || env[off] !== undefined)
    return (
      `${off} disables the sandbox that protects this computer from the window. Start the app without it. ` +
      'Where Linux allows no sandbox, install the deb or rpm package, which asks for it, or run the gateway without a window: inglenook start'
    );
  try {
    claimData();
    return null;
  } catch (error) {
    return `${messageOf(error)}\n\nInglenook is not running. Fix this and start it again.`;
  }
}

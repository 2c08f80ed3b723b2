import type { MenuItemConstructorOptions as Item } from 'electron';
import { visible } from '#shared/visible.ts';
import type { Actions } from './actions.ts';
import type { KeyStorage } from './keychain.ts';
import { describeServing, type MachineMode, type TrayFacts, type TrayShape } from './tray-state.ts';
import type { Updates } from './updates.ts';

const LINE: Item = { type: 'separator' };
const text = (words: string): Item => ({ label: literal(words), enabled: false });
const entry = (words: string, click: () => void): Item => ({ label: literal(words), click });
const toggle = (words: string, click: () => void, checked: boolean): Item => ({
  type: 'checkbox',
  label: literal(words),
  click,
  checked,
});

/** A single `&` marks an access key; an upstream's label may contain one. */
function literal(words: string): string {
  return visible(words).replaceAll('&', '&&');
}

export interface TrayView {
  readonly shape: TrayShape;
  /** Has what changes with each request. The menu does not, because it is expensive to replace. */
  readonly tooltip: string;
  readonly items: Item[];
}

interface TrayState {
  readonly facts: TrayFacts;
  readonly phase: 'running' | 'quitting';
  readonly system: SystemState;
}

/** Everything is in the menu, because some desktops do not report clicks on the icon. */
export function trayView({ facts, phase, system }: TrayState, act: Actions): TrayView {
  const { shape, line, inFlight } = describeServing(facts);
  const running = inFlight === 0 ? '' : ` · ${inFlight} in flight`;
  if (phase === 'quitting') {
    const items = [text('Quitting when running requests have finished'), LINE];
    items.push(entry('Quit now', act.quit));
    return { shape: 'off', tooltip: `Inglenook: Quitting${running}`, items };
  }
  return {
    shape,
    tooltip: `Inglenook: ${visible(line)}${running}`,
    items: [
      text(line),
      LINE,
      entry(`Copy base URL (${facts.app.baseUrl})`, act.copyBaseUrl),
      entry('Open dashboard', () => act.openWindow()),
      entry('Open in browser', act.openBrowser),
      entry('Join a gateway…', () => act.openWindow('join')),
      LINE,
      ...machineItems(facts.machine, act),
      toggle('Never spend money', act.toggleZeroSpend, facts.status.forceZero),
      LINE,
      ...systemItems(system, act),
      LINE,
      entry('Open logs', act.openLogs),
      entry('Diagnostics', () => act.openWindow('settings/about')),
      ...updateItems(system, act),
      { role: 'about' },
      LINE,
      entry('Quit', act.quit),
    ],
  };
}

function machineItems(mode: MachineMode, act: Actions): Item[] {
  if (mode === null || mode === 'leaving') return [];
  const free = entry('Free the GPU', act.freeMachine);
  if (mode !== 'on') return [entry('Resume this machine', () => act.setMachine('on')), free];
  return [
    entry('Hold back this machine', () => act.setMachine('paused')),
    entry('Finish, then hold back this machine', () => act.setMachine('drained')),
    free,
  ];
}

export interface SystemState {
  /** Null for an app that is not installed. */
  readonly startsAtLogin: boolean | null;
  readonly keys: ReturnType<KeyStorage['place']>;
  readonly looksForUpdates: boolean;
  /** Null for a build without an update address. */
  readonly update: ReturnType<Updates['offered']> | null;
}

/** The owner's switches other than those of routing. */
function systemItems({ startsAtLogin, keys }: SystemState, act: Actions): Item[] {
  const why = keys.why === null ? '' : ` (${keys.why})`;
  return [
    ...(startsAtLogin === null
      ? []
      : [toggle('Start at login', act.toggleLoginItem, startsAtLogin)]),
    toggle(`Keep API keys in the keychain${why}`, act.toggleKeyPlace, keys.isSealed),
  ];
}

function updateItems({ update, looksForUpdates }: SystemState, act: Actions): Item[] {
  if (update === null) return [];
  const [words, click] = update;
  return [
    click === undefined ? text(words) : entry(words, click),
    toggle('Check for updates every day', act.toggleUpdateCheck, looksForUpdates),
  ];
}

/**
 * The menu bar, without the links and developer entries of Electron's default menu. It has the tray's actions for
 * desktops without a tray. On macOS its first menu is the app's, and `fileMenu` holds "Close".
 */
export function appMenu(platform: NodeJS.Platform, act: Actions): Item[] {
  const isMac = platform === 'darwin';
  const gateway: Item[] = [
    { ...entry('Copy base URL', act.copyBaseUrl), accelerator: 'CmdOrCtrl+Shift+C' },
    entry('Open in browser', act.openBrowser),
    entry('Join a gateway…', () => act.openWindow('join')),
    { ...entry('Settings…', () => act.openWindow('settings')), accelerator: 'CmdOrCtrl+,' },
  ];
  if (!isMac) gateway.push({ role: 'about' }, LINE, { role: 'quit' });
  return [
    ...(isMac ? MAC_MENUS : []),
    { label: 'Gateway', submenu: gateway },
    { role: 'editMenu' },
    { label: 'View', submenu: VIEW },
    { role: 'windowMenu' },
  ];
}

const MAC_MENUS: readonly Item[] = [{ role: 'appMenu' }, { role: 'fileMenu' }];

const VIEW = (['reload', 'resetZoom', 'zoomIn', 'zoomOut'] as const).map((role) => ({ role }));

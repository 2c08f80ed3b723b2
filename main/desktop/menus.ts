import type { MenuItemConstructorOptions as Item } from 'electron';
import { assertNever } from '#shared/assert.ts';
import type { WarmupState } from '#shared/status.ts';
import { visible } from '#shared/visible.ts';
import type { Actions } from './actions.ts';
import type { KeyPlace } from './keychain.ts';
import type { LoginItemState } from './login-item.ts';
import {
  describeServing,
  displayName,
  isConfigured,
  type TrayFacts,
  type TrayShape,
} from './tray-state.ts';
import type { Updates } from './updates.ts';

const LINE: Item = { type: 'separator' };
const text = (words: string): Item => ({ label: literal(words), enabled: false });
const entry = (words: string, click: () => void): Item => ({ label: literal(words), click });
/** `enabled` is false for a switch that cannot be used now. */
const toggle = (words: string, click: () => void, checked: boolean, enabled = true): Item => ({
  type: 'checkbox',
  label: literal(words),
  click,
  checked,
  enabled,
});

/** A single `&` marks an access key; an upstream's label may contain one, and its error message anything. */
function literal(words: string): string {
  return visible(words).replaceAll('&', '&&');
}

export interface TrayView {
  readonly shape: TrayShape;
  readonly line: string;
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
  if (phase === 'quitting') return quittingView(inFlight, act);
  return {
    shape,
    line,
    items: [
      text(line),
      LINE,
      entry(`Copy base URL (${facts.app.baseUrl})`, act.copyBaseUrl),
      entry('Open dashboard', () => act.openWindow()),
      entry('Open in browser', act.openBrowser),
      entry('Join a gateway…', () => act.openWindow('join')),
      LINE,
      ...machineItems(facts, act),
      ...resets(facts, act),
      toggle('Local only', act.toggleZeroSpend, facts.status.forceZero),
      warmupSwitch(facts, act),
      LINE,
      ...systemItems(system, act),
      LINE,
      entry('Open logs', act.openLogs),
      entry('Diagnostics', () => act.openWindow('settings/about')),
      ...updateItems(system, act),
      entry('About Inglenook', act.about),
      LINE,
      entry(`Quit${inParentheses(inFlight)}`, act.quit),
    ],
  };
}

function quittingView(inFlight: number, act: Actions): TrayView {
  const line = inFlight === 0 ? 'Quitting' : `Quitting when ${requests(inFlight)} finished`;
  return { shape: 'off', line, items: [text(line), LINE, entry('Quit now', act.quit)] };
}

function machineItems({ machine }: TrayFacts, act: Actions): Item[] {
  const free = [
    entry('Free the GPU', () => act.freeMachine(null)),
    entry('Free the GPU for 2 hours', () => act.freeMachine(120)),
  ];
  switch (machine) {
    case null:
    case 'leaving':
      return [];
    case 'on':
      return [
        entry('Pause this machine', () => act.setMachine('paused')),
        entry('Drain this machine', () => act.setMachine('drained')),
        ...free,
      ];
    case 'paused':
    case 'draining':
      return [entry('Resume this machine', () => act.setMachine('on')), ...free];
    default:
      return assertNever(machine, 'machine mode');
  }
}

/** For upstreams that are skipped until some time has passed or they are reset. */
function resets({ status }: TrayFacts, act: Actions): Item[] {
  return status.upstreams
    .filter((upstream) => upstream.circuit.open || upstream.skips.length > 0)
    .map((upstream) => {
      const item = entry(`Try ${displayName(upstream)} again now`, () => act.reset(upstream.id));
      // Two upstreams may have the same label.
      return { ...item, id: upstream.id };
    });
}

const WARMUP_TEXTS: Readonly<Record<WarmupState, string>> = {
  idle: '',
  warming: ' (it is starting)',
  ready: ' (it is ready)',
  failed: ' (its last start failed)',
};

function warmupSwitch(facts: TrayFacts, act: Actions): Item {
  const { status, app } = facts;
  const words = `Warm up the on-demand GPU automatically${WARMUP_TEXTS[status.ondemand_warmup]}`;
  if (isConfigured('ondemand', facts)) return toggle(words, act.toggleWarmup, app.warmupEnabled);
  return toggle(`${words} (it is not configured)`, act.toggleWarmup, false, false);
}

function requests(count: number): string {
  return count === 1 ? '1 request has' : `${count} requests have`;
}

function inParentheses(inFlight: number): string {
  if (inFlight === 0) return '';
  return ` (${inFlight} ${inFlight === 1 ? 'request' : 'requests'} in flight)`;
}

export interface SystemState {
  readonly loginItem: LoginItemState;
  readonly keyPlace: KeyPlace;
  readonly keepsAwake: boolean;
  readonly looksForUpdates: boolean;
  /** Null for a build without an update address. */
  readonly update: ReturnType<Updates['offered']> | null;
}

const LOGIN_TEXTS: Readonly<Record<LoginItemState, string>> = {
  on: 'Start at login',
  off: 'Start at login',
  'needs approval': 'Start at login (allow it in System Settings)',
  disabled: 'Start at login (switched off in Task Manager)',
};

const KEY_TEXTS: Readonly<Record<KeyPlace, string>> = {
  keychain: 'Keep API keys in the keychain',
  file: 'Keep API keys in the keychain',
  'no keychain': 'Keep API keys in the keychain (none was found, they are in a file)',
};

/** The owner's switches other than those of routing. */
function systemItems(system: SystemState, act: Actions): Item[] {
  const { loginItem, keyPlace, keepsAwake } = system;
  const hasKeychain = keyPlace !== 'no keychain';
  return [
    toggle(LOGIN_TEXTS[loginItem], act.toggleLoginItem, loginItem !== 'off'),
    toggle('Stay awake while requests run', () => act.toggle('keepsAwake'), keepsAwake),
    toggle(KEY_TEXTS[keyPlace], act.toggleKeyPlace, keyPlace === 'keychain', hasKeychain),
  ];
}

function updateItems({ update, looksForUpdates }: SystemState, act: Actions): Item[] {
  if (update === null) return [];
  const daily = () => act.toggle('looksForUpdates');
  return [
    update.click === null ? text(update.words) : entry(update.words, update.click),
    toggle('Check for updates every day', daily, looksForUpdates),
  ];
}

/**
 * The menu bar, without the links and developer entries of Electron's default menu; `act` is null if the gateway runs
 * in another process. It has the tray's actions for desktops without a tray.
 */
export function appMenu(platform: NodeJS.Platform, act: Actions | null): Item[] {
  const isMac = platform === 'darwin';
  const own = act === null ? [] : ownItems(act);
  const exit: Item[] = isMac ? [] : [{ role: 'about' }, LINE, { role: 'quit' }];
  return [
    ...(isMac ? APP_MENUS : []),
    ...(own.length + exit.length === 0 ? [] : [{ label: 'Gateway', submenu: [...own, ...exit] }]),
    { role: 'editMenu' },
    VIEW,
    { role: 'windowMenu' },
  ];
}

const ownItems = (act: Actions): Item[] => [
  { ...entry('Copy base URL', act.copyBaseUrl), accelerator: 'CmdOrCtrl+Shift+C' },
  entry('Open in browser', act.openBrowser),
  entry('Join a gateway…', () => act.openWindow('join')),
  { ...entry('Settings…', () => act.openWindow('settings')), accelerator: 'CmdOrCtrl+,' },
];

/** `fileMenu` holds "Close" on macOS; elsewhere the window menu does. */
const APP_MENUS: readonly Item[] = [{ role: 'appMenu' }, { role: 'fileMenu' }];

const VIEW: Item = {
  label: 'View',
  submenu: [
    { role: 'reload' },
    LINE,
    { role: 'resetZoom' },
    { role: 'zoomIn' },
    { role: 'zoomOut' },
  ],
};

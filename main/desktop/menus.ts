import type { MenuItemConstructorOptions } from 'electron';
import { assertNever } from '#shared/assert.ts';
import type { UpstreamId } from '#shared/ids.ts';
import type { WarmupState } from '#shared/status.ts';
import { visible } from '#shared/visible.ts';
import type { ClickedPlace } from './electron-api.ts';
import type { KeyPlace } from './keychain.ts';
import type { LoginItemState } from './login-item.ts';
import {
  describeServing,
  displayName,
  isConfigured,
  recentProblem,
  type TrayFacts,
  type TrayShape,
} from './tray-state.ts';
import type { UpdateMeans, UpdateState } from './updates.ts';

export type MenuAction =
  | 'copy-base-url'
  | 'open-window'
  | 'open-settings'
  | 'open-browser'
  | 'join-gateway'
  | 'pause'
  | 'drain'
  | 'resume'
  | 'free'
  | 'free-two-hours'
  | 'toggle-warmup'
  | 'toggle-zero-spend'
  | `reset ${UpstreamId}`
  | 'toggle-login-item'
  | 'toggle-terminal-command'
  | 'toggle-key-place'
  | 'toggle-keep-awake'
  | 'toggle-update-checks'
  | 'proceed-update'
  | 'open-failed-machines'
  | `configure ${UpstreamId}`
  | 'open-logs'
  | 'open-diagnostics'
  | 'about'
  | 'quit';

type MenuEntry =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'action'; readonly text: string; readonly action: MenuAction }
  | {
      readonly kind: 'switch';
      readonly text: string;
      readonly action: MenuAction;
      readonly on: boolean;
      readonly enabled: boolean;
    }
  | { readonly kind: 'separator' };

const SEPARATOR: MenuEntry = { kind: 'separator' };
const text = (words: string): MenuEntry => ({ kind: 'text', text: words });
const action = (words: string, does: MenuAction): MenuEntry => ({
  kind: 'action',
  text: words,
  action: does,
});
/** `enabled` is false for a switch that cannot be used now. */
const toggle = (words: string, does: MenuAction, on: boolean, enabled = true): MenuEntry => ({
  kind: 'switch',
  text: words,
  action: does,
  on,
  enabled,
});

export interface TrayView {
  readonly shape: TrayShape;
  readonly line: string;
  readonly entries: readonly MenuEntry[];
}

interface TrayState {
  readonly facts: TrayFacts;
  readonly phase: 'running' | 'quitting';
  readonly system: SystemState;
}

/** Everything is in the menu, because some desktops do not report clicks on the icon. */
export function trayView(state: TrayState): TrayView {
  const { facts, phase, system } = state;
  const problem = recentProblem(facts);
  const serving = describeServing(facts);
  if (phase === 'quitting') return quittingView(serving.inFlight);
  return {
    shape: serving.shape,
    line: serving.line,
    entries: [
      text(serving.line),
      ...(problem === null ? [] : [text(problem)]),
      SEPARATOR,
      action(`Copy base URL (${facts.app.baseUrl})`, 'copy-base-url'),
      action('Open dashboard', 'open-window'),
      action('Open in browser', 'open-browser'),
      action('Join a gateway…', 'join-gateway'),
      SEPARATOR,
      ...machineActions(facts),
      ...resets(facts),
      zeroSpendSwitch(facts),
      warmupSwitch(facts),
      SEPARATOR,
      ...systemEntries(system),
      SEPARATOR,
      action('Open logs', 'open-logs'),
      action('Diagnostics', 'open-diagnostics'),
      ...updateEntries(system.updates),
      action('About Switchyard', 'about'),
      SEPARATOR,
      action(`Quit${inParentheses(serving.inFlight)}`, 'quit'),
    ],
  };
}

function quittingView(inFlight: number): TrayView {
  const line = inFlight === 0 ? 'Quitting' : `Quitting when ${requests(inFlight)} finished`;
  return {
    shape: 'off',
    line,
    entries: [text(line), SEPARATOR, action('Quit now', 'quit')],
  };
}

function machineActions({ machine }: TrayFacts): readonly MenuEntry[] {
  switch (machine) {
    case null:
    case 'leaving':
      return [];
    case 'on':
      return [
        action('Pause this machine', 'pause'),
        action('Drain this machine', 'drain'),
        ...FREE,
      ];
    case 'paused':
    case 'draining':
      return [action('Resume this machine', 'resume'), ...FREE];
    default:
      return assertNever(machine, 'machine mode');
  }
}

const FREE: readonly MenuEntry[] = [
  action('Free the GPU', 'free'),
  action('Free the GPU for 2 hours', 'free-two-hours'),
];

/** For upstreams that are skipped until some time has passed or they are reset. */
function resets({ status }: TrayFacts): readonly MenuEntry[] {
  return status.upstreams
    .filter((upstream) => upstream.circuit.open || upstream.skips.length > 0)
    .map((upstream) => action(`Try ${displayName(upstream)} again now`, `reset ${upstream.id}`));
}

function zeroSpendSwitch({ status }: TrayFacts): MenuEntry {
  return toggle('Local only', 'toggle-zero-spend', status.forceZero);
}

const WARMUP_TEXTS: Readonly<Record<WarmupState, string>> = {
  idle: '',
  warming: ' (it is starting)',
  ready: ' (it is ready)',
  failed: ' (its last start failed)',
};

function warmupSwitch(facts: TrayFacts): MenuEntry {
  const { status, app } = facts;
  const words = `Warm up the on-demand GPU automatically${WARMUP_TEXTS[status.ondemand_warmup]}`;
  if (isConfigured('ondemand', facts)) return toggle(words, 'toggle-warmup', app.warmupEnabled);
  return toggle(`${words} (it is not configured)`, 'toggle-warmup', false, false);
}

function requests(count: number): string {
  return count === 1 ? '1 request has' : `${count} requests have`;
}

function inParentheses(inFlight: number): string {
  if (inFlight === 0) return '';
  return ` (${inFlight} ${inFlight === 1 ? 'request' : 'requests'} in flight)`;
}

export function menuTemplate(
  entries: readonly MenuEntry[],
  act: (action: MenuAction) => void,
): MenuItemConstructorOptions[] {
  return entries.map((entry): MenuItemConstructorOptions => {
    switch (entry.kind) {
      case 'separator':
        return { type: 'separator' };
      case 'text':
        return { label: literal(entry.text), enabled: false };
      case 'action':
        return { label: literal(entry.text), click: () => act(entry.action) };
      case 'switch':
        return {
          type: 'checkbox',
          label: literal(entry.text),
          checked: entry.on,
          enabled: entry.enabled,
          click: () => act(entry.action),
        };
      default:
        return assertNever(entry, 'menu entry');
    }
  });
}

/** A single `&` marks an access key; an upstream's label may contain one, and its error message anything. */
function literal(words: string): string {
  return visible(words).replaceAll('&', '&&');
}

export interface SystemState {
  readonly loginItem: LoginItemState;
  /** Null if the package has installed the command. */
  readonly hasTerminalCommand: boolean | null;
  readonly keyPlace: KeyPlace;
  readonly keepsAwake: boolean;
  /** Null for a build without an update address. */
  readonly updates: UpdatesView | null;
}

interface UpdatesView {
  readonly means: Exclude<UpdateMeans, 'none'>;
  readonly state: UpdateState;
  readonly isAutomatic: boolean;
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
function systemEntries(system: SystemState): readonly MenuEntry[] {
  const { loginItem, hasTerminalCommand, keyPlace, keepsAwake } = system;
  const entries: MenuEntry[] = [
    toggle(LOGIN_TEXTS[loginItem], 'toggle-login-item', loginItem !== 'off'),
    toggle('Stay awake while requests run', 'toggle-keep-awake', keepsAwake),
    toggle(
      KEY_TEXTS[keyPlace],
      'toggle-key-place',
      keyPlace === 'keychain',
      keyPlace !== 'no keychain',
    ),
  ];
  if (hasTerminalCommand !== null)
    entries.push(
      toggle('Command "switchyard" in the terminal', 'toggle-terminal-command', hasTerminalCommand),
    );
  return entries;
}

function updateEntries(updates: SystemState['updates']): readonly MenuEntry[] {
  if (updates === null) return [];
  return [
    updateEntry(updates),
    toggle('Check for updates every day', 'toggle-update-checks', updates.isAutomatic),
  ];
}

function updateEntry({ means, state }: UpdatesView): MenuEntry {
  const proceed = (words: string) => action(words, 'proceed-update');
  switch (state.kind) {
    case 'idle':
      return proceed('Check for updates');
    case 'newest':
      return proceed('Check for updates (this is the newest version)');
    case 'failed':
      return proceed(`Check for updates (last time: ${state.why.slice(0, 80)})`);
    case 'checking':
      return text('Checking for updates…');
    case 'available':
      return means === 'install'
        ? proceed(`Download version ${state.version}`)
        : text(`Version ${state.version} is available: install it as you installed this one`);
    case 'downloading':
      return text(`Downloading version ${state.version}…`);
    case 'installing':
      return text(`Restarting into version ${state.version}…`);
    case 'ready':
      return proceed(`Restart into version ${state.version}`);
    case 'waiting':
      return proceed(`Version ${state.version} waits for running requests (do not wait)`);
    default:
      return assertNever(state, 'update state');
  }
}

type Item = MenuItemConstructorOptions;

/**
 * The menu bar: the tray's actions for desktops without a tray, without the links and developer entries of Electron's
 * default menu.
 */
export function appMenu(platform: NodeJS.Platform, act: (action: MenuAction) => void): Item[] {
  const gateway: Item[] = [
    { label: 'Copy base URL', accelerator: 'CmdOrCtrl+Shift+C', click: () => act('copy-base-url') },
    { label: 'Open in browser', click: () => act('open-browser') },
    { label: 'Join a gateway…', click: () => act('join-gateway') },
  ];
  const settings: Item = {
    label: 'Settings…',
    accelerator: 'CmdOrCtrl+,',
    click: () => act('open-settings'),
  };
  if (platform === 'darwin') {
    const own = { label: 'Switchyard', submenu: macEntries(settings) };
    return [own, FILE, ...PAGE_MENUS, { label: 'Gateway', submenu: gateway }, WINDOW];
  }
  const own: Item[] = [
    ...gateway,
    settings,
    { label: 'About Switchyard', click: () => act('about') },
    LINE,
    { label: 'Quit', accelerator: 'CmdOrCtrl+Q', click: () => act('quit') },
  ];
  return [{ label: 'Switchyard', submenu: own }, ...PAGE_MENUS, WINDOW];
}

/** The menu bar if the gateway runs in another process. */
export function attachedMenu(platform: NodeJS.Platform): Item[] {
  if (platform === 'darwin') return [{ role: 'appMenu' }, FILE, ...PAGE_MENUS, WINDOW];
  const own: Item[] = [{ label: 'Close', role: 'quit' }];
  return [{ label: 'Switchyard', submenu: own }, ...PAGE_MENUS, WINDOW];
}

/** For a right click in the page, for which Electron has no default menu. */
export function contextMenu({ isEditable, selectionText }: ClickedPlace): Item[] {
  if (isEditable)
    return [{ role: 'cut' }, { role: 'copy' }, { role: 'paste' }, { role: 'selectAll' }];
  return selectionText.trim() === '' ? [] : [{ role: 'copy' }];
}

const LINE: Item = { type: 'separator' };

/** Electron's default app menu, with an entry for the settings. */
const macEntries = (settings: Item): Item[] => [
  { role: 'about' },
  LINE,
  settings,
  LINE,
  { role: 'services' },
  LINE,
  { role: 'hide' },
  { role: 'hideOthers' },
  { role: 'unhide' },
  LINE,
  { role: 'quit' },
];

/** Holds "Close" on macOS; elsewhere the window menu does. */
const FILE: Item = { role: 'fileMenu' };

const WINDOW: Item = { role: 'windowMenu' };

const PAGE_MENUS: readonly Item[] = [
  { role: 'editMenu' },
  {
    label: 'View',
    submenu: [
      { role: 'reload' },
      LINE,
      { role: 'resetZoom' },
      { role: 'zoomIn' },
      { role: 'zoomOut' },
    ],
  },
];

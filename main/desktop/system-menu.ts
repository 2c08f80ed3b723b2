import { assertNever } from '#shared/assert.ts';
import type { KeyPlace } from './key-storage.ts';
import type { LoginItemState } from './login-item.ts';
import type { MenuEntry } from './menu-entry.ts';
import type { UpdateMeans, UpdateState } from './updates.ts';

/** What the menu shows about the app on this system. */
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
export function systemEntries(system: SystemState): readonly MenuEntry[] {
  const { loginItem, hasTerminalCommand, keyPlace, keepsAwake } = system;
  const entries: MenuEntry[] = [
    {
      kind: 'switch',
      text: LOGIN_TEXTS[loginItem],
      action: 'toggle-login-item',
      on: loginItem !== 'off',
      enabled: true,
    },
    {
      kind: 'switch',
      text: 'Stay awake while requests run',
      action: 'toggle-keep-awake',
      on: keepsAwake,
      enabled: true,
    },
    {
      kind: 'switch',
      text: KEY_TEXTS[keyPlace],
      action: 'toggle-key-place',
      on: keyPlace === 'keychain',
      enabled: keyPlace !== 'no keychain',
    },
  ];
  if (hasTerminalCommand !== null)
    entries.push({
      kind: 'switch',
      text: 'Command "switchyard" in the terminal',
      action: 'toggle-terminal-command',
      on: hasTerminalCommand,
      enabled: true,
    });
  return entries;
}

export function updateEntries(updates: SystemState['updates']): readonly MenuEntry[] {
  if (updates === null) return [];
  return [
    updateEntry(updates),
    {
      kind: 'switch',
      text: 'Check for updates every day',
      action: 'toggle-update-checks',
      on: updates.isAutomatic,
      enabled: true,
    },
  ];
}

function updateEntry({ means, state }: UpdatesView): MenuEntry {
  const action = (text: string): MenuEntry => ({ kind: 'action', text, action: 'proceed-update' });
  switch (state.kind) {
    case 'idle':
      return action('Check for updates');
    case 'newest':
      return action('Check for updates (this is the newest version)');
    case 'failed':
      return action(`Check for updates (last time: ${state.why.slice(0, 80)})`);
    case 'checking':
      return { kind: 'text', text: 'Checking for updates…' };
    case 'available':
      return means === 'install'
        ? action(`Download version ${state.version}`)
        : {
            kind: 'text',
            text: `Version ${state.version} is available: install it as you installed this one`,
          };
    case 'downloading':
      return { kind: 'text', text: `Downloading version ${state.version}…` };
    case 'installing':
      return { kind: 'text', text: `Restarting into version ${state.version}…` };
    case 'ready':
      return action(`Restart into version ${state.version}`);
    case 'waiting':
      return action(`Version ${state.version} waits for running requests (do not wait)`);
    default:
      return assertNever(state, 'update state');
  }
}

import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { replaceFile } from '../platform/files.ts';
import type { AppApi } from './electron-api.ts';

/** Starts the app without opening its window. */
export const HIDDEN_SWITCH = 'hidden';

/** `needs approval`: by macOS; `held off`: by Windows, whose Task Manager has a switch of its own. */
export type LoginItemState = 'on' | 'off' | 'needs approval' | 'held off';

/** Start at login, as the system has it: its own settings may have changed it. */
export interface LoginItem {
  state(): LoginItemState;
  /** Throws with the system's message. */
  set(isOn: boolean): void;
}

interface LoginItemDeps {
  readonly app: Pick<AppApi, 'getLoginItemSettings' | 'setLoginItemSettings'>;
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Path of the running program. */
  readonly execPath: string;
}

export function createLoginItem({ app, platform, env, execPath }: LoginItemDeps): LoginItem {
  if (platform === 'linux') return createAutostart(env, execPath);
  const args = [`--${HIDDEN_SWITCH}`];
  return {
    state() {
      const found = app.getLoginItemSettings({ args });
      if (platform === 'darwin' && found.status === 'requires-approval') return 'needs approval';
      if (!found.openAtLogin) return 'off';
      return platform === 'win32' && !found.executableWillLaunchAtLogin ? 'held off' : 'on';
    },
    set: (openAtLogin) => app.setLoginItemSettings({ openAtLogin, args }),
  };
}

/** https://specifications.freedesktop.org/autostart-spec/latest/ */
function createAutostart(env: LoginItemDeps['env'], execPath: string): LoginItem {
  const configHome = env['XDG_CONFIG_HOME'] || join(env['HOME'] ?? homedir(), '.config');
  const path = join(configHome, 'autostart', 'io.github.switchyard.desktop');
  return {
    state() {
      try {
        const isOff = /^(Hidden=true|X-GNOME-Autostart-enabled=false)\s*$/m;
        return isOff.test(readFileSync(path, 'utf8')) ? 'off' : 'on';
      } catch {
        return 'off';
      }
    },
    set(isOn) {
      if (!isOn) {
        rmSync(path, { force: true });
        return;
      }
      mkdirSync(dirname(path), { recursive: true });
      // An AppImage runs from a mount that is gone at the next login; APPIMAGE is the file itself.
      replaceFile(path, desktopEntry(env['APPIMAGE'] ?? execPath));
    },
  };
}

function desktopEntry(program: string): string {
  return [
    '[Desktop Entry]',
    'Type=Application',
    'Name=Switchyard',
    'Comment=LLM gateway in the tray',
    // Once the program is gone, so is its start.
    `TryExec=${program.replaceAll('\\', String.raw`\\`)}`,
    `Exec=${quoted(program)} --${HIDDEN_SWITCH}`,
    'Icon=switchyard-desktop',
    'Terminal=false',
    '',
  ].join('\n');
}

/** Quoting of `Exec`: backslashes are doubled once for the quotes and once for the file's strings. */
function quoted(program: string): string {
  const escaped = program
    .replaceAll('\\', String.raw`\\\\`)
    .replaceAll(/["`$]/g, (character) => String.raw`\\` + character)
    .replaceAll('%', '%%');
  return `"${escaped}"`;
}

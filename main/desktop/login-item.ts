import { mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type * as Electron from 'electron';
import { homeDirectory, readTextFile, replaceFile } from '../platform/files.ts';
import { HIDDEN_SWITCH } from './command-line.ts';

/** `needs approval`: in the System Settings of macOS; `disabled`: in the Task Manager of Windows. */
export type LoginItemState = 'on' | 'off' | 'needs approval' | 'disabled';

/** Start at login, always read from the system, whose own settings may change it. */
export interface LoginItem {
  state(): LoginItemState;
  /** Throws with the system's message. */
  set(isOn: boolean): void;
}

interface LoginItemDeps {
  readonly app: Pick<Electron.App, 'getLoginItemSettings' | 'setLoginItemSettings'>;
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
      return platform === 'win32' && !found.executableWillLaunchAtLogin ? 'disabled' : 'on';
    },
    set: (openAtLogin) => app.setLoginItemSettings({ openAtLogin, args }),
  };
}

/** https://specifications.freedesktop.org/autostart-spec/latest/ */
function createAutostart(env: LoginItemDeps['env'], execPath: string): LoginItem {
  const configHome = env['XDG_CONFIG_HOME'] || join(env['HOME'] || homeDirectory(), '.config');
  const path = join(configHome, 'autostart', 'io.github.inglenook.desktop');
  return {
    state() {
      try {
        const text = readTextFile(path);
        return text === null || SWITCHED_OFF.test(text) ? 'off' : 'on';
      } catch {
        // It cannot be read.
        return 'off';
      }
    },
    set(isOn) {
      if (!isOn) return rmSync(path, { force: true });
      mkdirSync(dirname(path), { recursive: true });
      replaceFile(path, desktopEntry(execPath));
    },
  };
}

/** As the desktop's own settings write it. */
const SWITCHED_OFF = /^(Hidden=true|X-GNOME-Autostart-enabled=false)\s*$/m;

const desktopEntry = (program: string): string =>
  [
    '[Desktop Entry]',
    'Type=Application',
    'Name=Inglenook',
    'Comment=LLM gateway in the tray',
    // The desktop ignores the entry once the program is gone.
    `TryExec=${program}`,
    `Exec="${program}" --${HIDDEN_SWITCH}`,
    'Icon=inglenook-desktop',
    'Terminal=false',
    '',
  ].join('\n');

import { mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type * as Electron from 'electron';
import { homeDirectory, readTextFile, replaceFile } from '../platform/files.ts';
import { HIDDEN_SWITCH } from './command-line.ts';

/** Start at login, as the system has it, whose own settings may change it. */
export interface LoginItem {
  isOn(): boolean;
  /** Throws with the system's message. */
  set(isOn: boolean): void;
}

interface LoginItemDeps {
  readonly app: Pick<
    Electron.App,
    'isPackaged' | 'isInApplicationsFolder' | 'getLoginItemSettings' | 'setLoginItemSettings'
  >;
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Path of the running program. */
  readonly execPath: string;
}

/** Null for an app that is not installed: its system would start Electron alone, or a path that is soon gone. */
export function createLoginItem({ app, platform, env, execPath }: LoginItemDeps): LoginItem | null {
  if (!app.isPackaged) return null;
  // macOS runs an app that was only downloaded from a temporary path.
  if (platform === 'darwin' && !app.isInApplicationsFolder()) return null;
  if (platform === 'linux') return createAutostart(env, execPath);
  const args = [`--${HIDDEN_SWITCH}`];
  return {
    isOn() {
      const found = app.getLoginItemSettings({ args });
      // Its owner may have switched it off in the Task Manager, or may still have to allow it in System Settings.
      if (platform === 'win32') return found.openAtLogin && found.executableWillLaunchAtLogin;
      return found.openAtLogin || found.status === 'requires-approval';
    },
    set: (openAtLogin) => app.setLoginItemSettings({ openAtLogin, args }),
  };
}

/** https://specifications.freedesktop.org/autostart-spec/latest/ */
function createAutostart(env: LoginItemDeps['env'], execPath: string): LoginItem {
  const configHome = env['XDG_CONFIG_HOME'] || join(env['HOME'] || homeDirectory(), '.config');
  const path = join(configHome, 'autostart', 'io.github.inglenook.desktop');
  return {
    isOn() {
      try {
        return !SWITCHED_OFF.test(readTextFile(path) ?? 'Hidden=true');
      } catch {
        return false;
      }
    },
    set(isOn) {
      if (!isOn) return rmSync(path, { force: true });
      mkdirSync(dirname(path), { recursive: true });
      replaceFile(path, desktopEntry(execPath));
    },
  };
}

/** How the desktop's own settings switch an entry off. */
const SWITCHED_OFF = /^(Hidden=true|X-GNOME-Autostart-enabled=false)\s*$/m;

/** The desktop ignores it once the program is gone. */
const desktopEntry = (program: string): string => `[Desktop Entry]
Type=Application
Name=Inglenook
Comment=LLM gateway in the tray
TryExec=${program}
Exec="${program}" --${HIDDEN_SWITCH}
Icon=inglenook-desktop
Terminal=false
`;

import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type * as Electron from 'electron';
import { homeDirectory, readTextFile, replaceFile } from '../platform/files.ts';

/** Starts the app without opening its window. */
export const HIDDEN_SWITCH = 'hidden';

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
  const state = (): LoginItemState => {
    const text = textOf(path);
    return text === null || SWITCHED_OFF.test(text) ? 'off' : 'on';
  };
  function set(isOn: boolean): void {
    if (!isOn) {
      rmSync(path, { force: true });
      return;
    }
    mkdirSync(dirname(path), { recursive: true });
    // An AppImage runs from a temporary mount; APPIMAGE is the path of the file itself.
    replaceFile(path, desktopEntry(env['APPIMAGE'] ?? execPath));
  }
  try {
    if (state() === 'on' && isStale(path)) set(true);
  } catch {
    // The write failed; the menu shows the entry as it is.
  }
  return { state, set };
}

/** As the desktop's own settings write it. */
const SWITCHED_OFF = /^(Hidden=true|X-GNOME-Autostart-enabled=false)\s*$/m;

/** Null if the file is missing or unreadable. */
export function textOf(path: string): string | null {
  try {
    return readTextFile(path);
  } catch {
    return null;
  }
}

/** The entry names a program that no longer exists, such as an AppImage that was moved. */
function isStale(path: string): boolean {
  const [, named] = /^TryExec=(.*)$/m.exec(textOf(path) ?? '') ?? [];
  return named !== undefined && !existsSync(named.replaceAll(String.raw`\\`, '\\'));
}

function desktopEntry(program: string): string {
  return [
    '[Desktop Entry]',
    'Type=Application',
    'Name=Inglenook',
    'Comment=LLM gateway in the tray',
    // The desktop ignores the entry once the program is gone.
    `TryExec=${program.replaceAll('\\', String.raw`\\`)}`,
    `Exec=${quoted(program)} --${HIDDEN_SWITCH}`,
    'Icon=inglenook-desktop',
    'Terminal=false',
    '',
  ].join('\n');
}

/** Quotes a word of `Exec`: backslashes are doubled once for the quotes and once for the file's strings. */
function quoted(program: string): string {
  const escaped = program
    .replaceAll('\\', String.raw`\\\\`)
    .replaceAll(/["`$]/g, (character) => String.raw`\\` + character)
    .replaceAll('%', '%%');
  return `"${escaped}"`;
}

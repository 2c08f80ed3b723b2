import type * as Electron from 'electron';
import type { AppUpdater } from 'electron-updater';
import type { Clock } from '../platform/clock.ts';
import type { LoginItem } from './login-item.ts';
import type { JsonFile, Preferences } from './preferences.ts';

export interface UpdateSource {
  /** About a newer version: `install` if its signature is checked before, `tell` if nothing would. */
  readonly means: 'install' | 'tell';
  readonly load: () => Promise<AppUpdater>;
}

/** What the shell gets from its system; a test passes stand-ins. */
export interface ShellDeps {
  readonly electron: typeof Electron;
  readonly platform: NodeJS.Platform;
  /** The command line of this process, the program first. */
  readonly argv: readonly string[];
  /** Of this process, for uncaught errors and for the signal to exit. */
  readonly events: NodeJS.EventEmitter;
  readonly clock: Clock;
  readonly iconsDirectory: string;
  /** Whether the desktop shows tray icons, about which Electron's Tray says nothing. */
  readonly hasTrayPanel: () => Promise<boolean>;
  /** Null for an app that is not installed. */
  readonly loginItem: LoginItem | null;
  readonly preferences: Preferences;
  readonly crashFile: JsonFile;
  /** Null for a build without an update address. */
  readonly updater: UpdateSource | null;
  readonly logsDirectory: string;
}

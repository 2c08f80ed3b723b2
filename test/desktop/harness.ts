import { setImmediate } from 'node:timers/promises';
import { runDesktop } from '../../main/desktop/desktop.ts';
import type { Keychain } from '../../main/desktop/keychain.ts';
import type { LoginItem } from '../../main/desktop/login-item.ts';
import { createPreferences, type JsonFile } from '../../main/desktop/preferences.ts';
import type { Clock } from '../../main/platform/clock.ts';
import { createManualClock } from '../support/clock.ts';
import {
  createFakeElectron,
  type FakeElectron,
  type FakeTray,
  type FakeWindow,
} from './fake-electron.ts';
import { createFakeHost, type FakeHost } from './fixtures.ts';

export interface Desktop extends FakeElectron {
  readonly host: FakeHost;
  readonly hostsMade: () => number;
  readonly window: () => FakeWindow;
  readonly tray: () => FakeTray;
  /** Settles when the start has ended. */
  readonly started: Promise<void>;
  /** Events of the log. */
  readonly logged: readonly string[];
  /** Throws an error where nothing catches it. */
  readonly crash: (error: unknown) => void;
  /** As the system does with what still runs when a session ends. */
  readonly terminate: () => void;
}

/** A file in memory. */
export function memoryFile(first: unknown = null): JsonFile & { readonly now: () => unknown } {
  let value = first;
  return {
    now: () => value,
    read: () => value,
    write(next) {
      value = structuredClone(next);
    },
  };
}

/** No keychain, as in a session without one. */
const NO_KEYCHAIN: Keychain = {
  state: { kind: 'none', why: 'none' },
  renew: () => Promise.reject(new Error('none')),
};

export interface DesktopScene {
  readonly preferences?: JsonFile;
  readonly crashes?: JsonFile;
  readonly keychain?: Keychain;
  readonly lostKeys?: readonly string[];
  readonly updater?: Parameters<typeof runDesktop>[0]['updater'];
  readonly host?: FakeHost;
  readonly platform?: NodeJS.Platform;
  /** As it is now; it shows every icon, if it is left out. */
  readonly panel?: { readonly isThere: boolean };
  readonly env?: Readonly<Record<string, string>>;
  readonly claimData?: () => void;
  /** The link to a gateway that another process runs. */
  readonly elsewhere?: string;
  /** One that stands still, if it is left out. */
  readonly clock?: Clock;
  /** The start waits for something, and is not waited for. */
  readonly isHeldUp?: boolean;
  readonly loginItem?: LoginItem;
  /** Behind the program's name. */
  readonly args?: readonly string[];
  readonly prepare?: (fake: FakeElectron) => void;
}

/** Lets everything that is due now happen. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await setImmediate();
}

/** The shell on a fake Electron with a fake host, started. */
export async function startDesktop(scene: DesktopScene = {}): Promise<Desktop> {
  const fake = createFakeElectron();
  const host = scene.host ?? createFakeHost();
  let made = 0;
  let startsAtLogin = false;
  let crash: (error: unknown) => void = () => undefined;
  let terminate = (): void => undefined;
  const logged: string[] = [];
  const clock = scene.clock ?? createManualClock();
  scene.prepare?.(fake);
  const started = runDesktop({
    electron: fake.electron,
    claimData: scene.claimData ?? (() => undefined),
    compose: () => {
      made++;
      return scene.elsewhere === undefined
        ? {
            kind: 'own',
            host,
            keychain: scene.keychain ?? NO_KEYCHAIN,
            lostKeys: scene.lostKeys ?? [],
            log: (_level, event) => void logged.push(event),
          }
        : { kind: 'elsewhere', link: scene.elsewhere };
    },
    platform: scene.platform ?? 'linux',
    env: scene.env ?? {},
    argv: ['inglenook', ...(scene.args ?? [])],
    versions: { app: '1.2.3', electron: '45.0.0', chrome: '150.0', node: '24.0.0' },
    iconsDirectory: '/icons',
    trayPanel: () => Promise.resolve(scene.panel?.isThere ?? true),
    clock,
    onUncaught: (listener) => {
      crash = listener;
    },
    onTerminated: (listener) => {
      terminate = listener;
    },
    preferences: createPreferences(scene.preferences ?? memoryFile()),
    crashFile: scene.crashes ?? memoryFile(),
    updater: scene.updater ?? null,
    dataDirectory: '/data',
    logsDirectory: '/data/logs',
    loginItem: scene.loginItem ?? {
      state: () => (startsAtLogin ? 'on' : 'off'),
      set: (isOn) => {
        startsAtLogin = isOn;
      },
    },
  });
  if (scene.isHeldUp !== true) await started;
  return {
    ...fake,
    host,
    started,
    logged,
    crash: (error) => crash(error),
    terminate: () => terminate(),
    hostsMade: () => made,
    window: () => the(fake.windows.at(-1), 'window'),
    tray: () => the(fake.trays.at(-1), 'tray'),
  };
}

function the<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`there is no ${what}`);
  return value;
}

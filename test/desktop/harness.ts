import { setImmediate } from 'node:timers/promises';
import { runDesktop } from '../../main/desktop/desktop.ts';
import type { LoginItem } from '../../main/desktop/login-item.ts';
import type { TerminalCommand } from '../../main/desktop/terminal-command.ts';
import type { SavedWindow } from '../../main/desktop/window-bounds.ts';
import type { Clock } from '../../main/platform/clock.ts';
import { systemClock } from '../../main/platform/clock.ts';
import {
  createFakeElectron,
  type FakeElectron,
  type FakeTray,
  type FakeWindow,
} from '../support/fake-electron.ts';
import { createFakeHost, type FakeHost } from './fixtures.ts';

export interface Desktop extends FakeElectron {
  readonly host: FakeHost;
  readonly hostsMade: () => number;
  readonly window: () => FakeWindow;
  readonly tray: () => FakeTray;
  readonly savedWindow: () => SavedWindow | null;
}

export interface DesktopScene {
  readonly host?: FakeHost;
  readonly platform?: NodeJS.Platform;
  readonly hasTrayPanel?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly claimData?: () => void;
  /** The link to a gateway that another process runs. */
  readonly elsewhere?: string;
  readonly clock?: Clock;
  readonly saved?: SavedWindow;
  readonly loginItem?: LoginItem;
  readonly terminalCommand?: TerminalCommand;
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
  let saved = scene.saved ?? null;
  let startsAtLogin = false;
  scene.prepare?.(fake);
  await runDesktop({
    electron: fake.electron,
    claimData: scene.claimData ?? (() => undefined),
    compose: () => {
      made++;
      return scene.elsewhere === undefined
        ? { kind: 'own', host }
        : { kind: 'elsewhere', link: scene.elsewhere };
    },
    platform: scene.platform ?? 'linux',
    env: scene.env ?? {},
    argv: ['switchyard', ...(scene.args ?? [])],
    versions: { app: '1.2.3', electron: '45.0.0', chrome: '150.0', node: '24.0.0' },
    terminalCommand: scene.terminalCommand ?? null,
    iconsDirectory: '/icons',
    hasTrayPanel: () => Promise.resolve(scene.hasTrayPanel ?? true),
    clock: scene.clock ?? systemClock,
    dataDirectory: '/data',
    logsDirectory: '/data/logs',
    loginItem: scene.loginItem ?? {
      state: () => (startsAtLogin ? 'on' : 'off'),
      set: (isOn) => {
        startsAtLogin = isOn;
      },
    },
    savedWindow: {
      read: () => saved,
      write: (next) => {
        saved = next;
      },
    },
  });
  return {
    ...fake,
    host,
    hostsMade: () => made,
    window: () => the(fake.windows.at(-1), 'window'),
    tray: () => the(fake.trays.at(-1), 'tray'),
    savedWindow: () => saved,
  };
}

function the<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`there is no ${what}`);
  return value;
}

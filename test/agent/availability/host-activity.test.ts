import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  createHostActivity,
  idleOfSessions,
  parseHidIdleMs,
  parsePmset,
  parseSessionIds,
  parseSessions,
} from '../../../main/agent/availability/host-activity.ts';
import { createManualClock } from '../../support/clock.ts';
import { fileTree, HANGS, prints, stubTools } from '../../support/stub-tool.ts';
import { fixture } from '../fixture.ts';

const never = new AbortController().signal;
const NOW_MS = Date.UTC(2026, 0, 1);

/** A machine of a system, with these tools and files and no others. */
function machine(
  platform: NodeJS.Platform,
  scripts: Readonly<Record<string, string>>,
  root = fileTree({}),
) {
  const clock = createManualClock();
  const tools = stubTools(scripts);
  const { startTool } = tools;
  const asked = createHostActivity({ clock, env: {}, platform, root, startTool });
  return {
    clock,
    tools,
    userIdleMs: () => asked.userIdleMs(never),
    isOnBattery: () => asked.isOnBattery(never),
  };
}

describe('power on Linux', () => {
  const SUPPLY = '/sys/class/power_supply';
  const supply = (name: string, files: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      Object.entries(files).map(([file, text]) => [`${SUPPLY}/${name}/${file}`, text]),
    );
  const battery = (status: string) => supply('BAT0', { type: 'Battery', status });
  const mains = (online: string) => supply('AC', { type: 'Mains', online });
  const usb = (online: string) => supply('ucsi-1', { type: 'USB', online });
  const mouse = supply('hid-1', { type: 'Battery', scope: 'Device', status: 'Discharging' });

  test.each([
    ['a laptop that is unplugged', { ...battery('Discharging'), ...mains('0') }, true],
    ['a laptop that is plugged in', { ...battery('Charging'), ...mains('1') }, false],
    ['a full battery', { ...battery('Full'), ...mains('1') }, false],
    ['a battery drained beside the mains', { ...battery('Discharging'), ...mains('1') }, false],
    ['a charger at a USB port', { ...battery('Discharging'), ...mains('0'), ...usb('2') }, false],
    ['a battery that nobody knows', { ...battery('Unknown'), ...mains('0') }, false],
    ['a laptop that tells of no mains', battery('Discharging'), true],
    ['a desktop with the battery of a mouse', mouse, false],
    ['a desktop', { '/sys/class/net/lo/mtu': '1500' }, false],
    ['a machine whose kernel is hidden', {}, null],
  ])('%s', async (_law, files, isOnBattery) => {
    expect(await machine('linux', {}, fileTree(files)).isOnBattery()).toBe(isOnBattery);
  });
});

describe('sessions of logind', () => {
  const show = (part: Readonly<Record<string, string>>) =>
    Object.entries({
      Type: 'tty',
      Class: 'user',
      State: 'active',
      IdleHint: 'no',
      IdleSinceHint: '0',
      ...part,
    })
      .map(([name, value]) => `${name}=${value}`)
      .join('\n');
  const idle = (...parts: Readonly<Record<string, string>>[]) =>
    idleOfSessions(parseSessions(parts.map(show).join('\n\n')), NOW_MS);
  const ago = (ms: number) => ({ IdleSinceHint: `${(NOW_MS - ms) * 1000}` });
  const DESKTOP = { Type: 'wayland' };

  test.each([
    ['a terminal counts from its last key', [ago(9000)], 9000],
    ['the one touched last counts', [ago(9000), ago(400)], 400],
    ['a terminal of the future was touched now', [ago(-5000)], 0],
    ['a session in which nobody can type is no person', [{}], Infinity],
    [
      'an idle desktop counts from when it said so',
      [{ ...DESKTOP, ...ago(7), IdleHint: 'yes' }],
      7,
    ],
    ['a desktop that is no longer idle is in use', [{ ...DESKTOP, ...ago(900_000) }], 0],
    ['a desktop that has never said a word is unknown', [DESKTOP], null],
    ['… also beside a terminal that is known', [DESKTOP, ago(7)], null],
    ['the screen at which one logs in is no person', [{ ...DESKTOP, Class: 'greeter' }], Infinity],
    [
      'the manager that starts before a login is no person',
      [{ ...ago(7), Class: 'manager-early' }],
      Infinity,
    ],
    ['a session that is closing is over', [{ ...ago(7), State: 'closing' }], Infinity],
  ])('%s', (_law, sessions, ms) => {
    expect(idle(...sessions)).toBe(ms);
  });

  test('are those of the list', () => {
    expect(parseSessionIds(fixture('loginctl-list.txt'))).toEqual(['2', 'c1', '14']);
    expect(parseSessionIds(fixture('loginctl-list-states.txt'))).toEqual(['1', 'c2']);
    expect(parseSessionIds('')).toEqual([]);
    expect(parseSessionIds('--help now\n$(reboot)\n')).toEqual([]);
  });
});

describe('idle time on Linux', () => {
  test('is what logind says of the people who are logged in', async () => {
    const list = prints(fixture('loginctl-list.txt'));
    const show = prints(fixture('loginctl-show.txt'));
    const script = `if [ "$1" = list-sessions ]; then\n${list}\nfi\n${show}`;
    const { userIdleMs, tools } = machine('linux', { loginctl: script });
    expect(await userIdleMs()).toBe(NOW_MS - 1_767_225_540_000);
    expect(tools.runs[1]?.args.slice(-3)).toEqual(['2', 'c1', '14']);
  });

  test('has no end where nobody is logged in', async () => {
    expect(await machine('linux', { loginctl: 'exit 0' }).userIdleMs()).toBe(Infinity);
  });

  test('is unknown while logind hangs, which is waited for 10 s', async () => {
    const { userIdleMs, clock, tools } = machine('linux', { loginctl: HANGS });
    const asked = userIdleMs();
    await tools.run(1);
    clock.advance(10_000);
    expect(await asked).toBeNull();
  });

  /** Terminals as files, last read so many milliseconds ago. */
  function terminals(ages: Readonly<Record<string, number>>): string {
    const root = fileTree({});
    for (const [path, ms] of Object.entries(ages)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), '');
      // The time of the last writing is later: what a program prints is nobody's typing.
      utimesSync(join(root, path), (NOW_MS - ms) / 1000, NOW_MS / 1000);
    }
    return root;
  }

  const CONSOLES = { '/dev/tty1': 900_000, '/dev/ttyS0': 800_000, '/dev/tty': 0 };

  test.each([
    ['without logind', {}],
    ['where systemd does not run', { loginctl: 'echo "System has not been booted" >&2; exit 1' }],
  ])('%s it is that of the terminal read last', async (_law, scripts) => {
    const root = terminals({ ...CONSOLES, '/dev/pts/0': 61_000, '/dev/pts/ptmx': 0 });
    expect(await machine('linux', scripts, root).userIdleMs()).toBe(61_000);
  });

  test('is unknown in a container, and alongside a desktop that touches no terminal', async () => {
    const container = terminals({ '/dev/tty': 0, '/dev/pts/0': 61_000 });
    expect(await machine('linux', {}, container).userIdleMs()).toBeNull();
    const desktop = terminals({ ...CONSOLES, '/tmp/.X11-unix/X0': 0 });
    expect(await machine('linux', {}, desktop).userIdleMs()).toBeNull();
  });
});

describe('a Mac', () => {
  test('says what it runs on, and how long ago it was touched', async () => {
    const { isOnBattery, userIdleMs } = machine('darwin', {
      pmset: prints(fixture('pmset-battery.txt')),
      ioreg: prints(fixture('ioreg-hid.txt')),
    });
    expect(await isOnBattery()).toBe(true);
    expect(await userIdleMs()).toBe(301_500);
  });

  test('on the mains is on no battery, and other words are no answer', () => {
    expect(parsePmset("Now drawing from 'AC Power'\n")).toBe(false);
    expect(parsePmset("Now drawing from 'UPS Power'\n")).toBe(true);
    expect(parsePmset('')).toBeNull();
    expect(parseHidIdleMs('"IOClass" = "IOHIDSystem"')).toBeNull();
  });

  test('whose tools fail tells nothing', async () => {
    const { isOnBattery, userIdleMs } = machine('darwin', { pmset: 'exit 1' });
    expect([await isOnBattery(), await userIdleMs()]).toEqual([null, null]);
  });
});

test('Windows tells nothing yet', async () => {
  const { isOnBattery, userIdleMs } = machine('win32', {});
  expect([await isOnBattery(), await userIdleMs()]).toEqual([null, null]);
});

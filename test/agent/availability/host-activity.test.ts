import { expect, test } from 'vitest';
import {
  createHostActivity,
  idleOfSessions,
  parseSessions,
} from '../../../main/agent/availability/host-activity.ts';
import { createManualClock } from '../../support/clock.ts';
import { fileTree, prints, stubTools } from '../../support/stub-tool.ts';
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
  ['a laptop that is unplugged is on battery', { ...battery('Discharging'), ...mains('0') }, true],
  [
    'a laptop whose battery drains on mains power is on mains power',
    { ...battery('Discharging'), ...mains('1') },
    false,
  ],
  [
    'a laptop with a charger at a USB port is on mains power',
    { ...battery('Discharging'), ...mains('0'), ...usb('2') },
    false,
  ],
  [
    'a laptop with a battery in an unknown state is not on battery',
    { ...battery('Unknown'), ...mains('0') },
    false,
  ],
  ['a laptop that reports no mains is on battery', battery('Discharging'), true],
  ['a desktop with the battery of a mouse is not on battery', mouse, false],
  ['a desktop is not on battery', { '/sys/class/net/lo/mtu': '1500' }, false],
  ['a machine whose kernel is hidden has an unknown power source', {}, null],
])('%s', async (_title, files, isOnBattery) => {
  expect(await machine('linux', {}, fileTree(files)).isOnBattery()).toBe(isOnBattery);
});

const shown = (part: Readonly<Record<string, string>>) =>
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
  idleOfSessions(parseSessions(parts.map(shown).join('\n\n')), NOW_MS);
const ago = (ms: number) => ({ IdleSinceHint: `${(NOW_MS - ms) * 1000}` });
const DESKTOP = { Type: 'wayland' };

test.each([
  ['a terminal is idle since its last key', [ago(9000)], 9000],
  ['the terminal used last counts', [ago(9000), ago(400)], 400],
  ['a terminal last used in the future counts as used now', [ago(-5000)], 0],
  ['a session in which nobody can type is no person', [{}], Infinity],
  ['an idle desktop is idle since it said so', [{ ...DESKTOP, ...ago(7), IdleHint: 'yes' }], 7],
  ['a desktop that is no longer idle is in use', [{ ...DESKTOP, ...ago(900_000) }], 0],
  ['a desktop that has never reported its idle time is unknown', [DESKTOP], null],
  [
    'a desktop that has never reported makes the idle time unknown next to a known terminal',
    [DESKTOP, ago(7)],
    null,
  ],
  ['a login screen is no person', [{ ...DESKTOP, Class: 'greeter' }], Infinity],
  [
    'the manager that starts before a login is no person',
    [{ ...ago(7), Class: 'manager-early' }],
    Infinity,
  ],
  ['a session that is closing is over', [{ ...ago(7), State: 'closing' }], Infinity],
])('%s', (_title, sessions, ms) => {
  expect(idle(...sessions)).toBe(ms);
});

test('the idle time on Linux is what logind says of the people who are logged in', async () => {
  const list = prints(fixture('loginctl-list.txt'));
  const show = prints(fixture('loginctl-show.txt'));
  const script = `if [ "$1" = list-sessions ]; then\n${list}\nfi\n${show}`;
  const { userIdleMs, tools } = machine('linux', { loginctl: script });
  expect(await userIdleMs()).toBe(NOW_MS - 1_767_225_540_000);
  expect(tools.runs[1]?.args.slice(-3)).toEqual(['2', 'c1', '14']);
});

test.each([
  ['without logind', {}],
  ['where systemd does not run', { loginctl: 'echo "System has not been booted" >&2; exit 1' }],
])('the idle time on Linux is unknown %s', async (_title, scripts) => {
  expect(await machine('linux', scripts).userIdleMs()).toBeNull();
});

test('a Mac says whether it runs on battery, and when it was last used', async () => {
  const { isOnBattery, userIdleMs } = machine('darwin', {
    pmset: prints(fixture('pmset-battery.txt')),
    ioreg: prints(fixture('ioreg-hid.txt')),
  });
  expect(await isOnBattery()).toBe(true);
  expect(await userIdleMs()).toBe(301_500);
});

import { expect, test } from 'vitest';
import { describeServing } from '../../main/desktop/tray-state.ts';
import { createFakeHost, factsOf, type Scene } from './fixtures.ts';
import { settle, startDesktop } from './harness.ts';

const DOWN = { kind: 'failed', by: 'check', reason: 'unreachable' } as const;

test.each<[string, string, Scene]>([
  ['closed', 'Serving from Local', {}],
  ['fallback', 'Serving from Groq', { open: ['local'] }],
  ['fallback', 'RunPod is next (cold start)', { configured: ['ondemand'], warmup: 'idle' }],
  ['closed', 'Local is next, but untested', { sightings: { local: { kind: 'untested' } } }],
  [
    'broken',
    'Nothing can answer: Local is unreachable',
    { configured: ['local'], sightings: { local: DOWN } },
  ],
  [
    'fallback',
    'Serving from Groq; this machine is held back',
    { open: ['local'], machine: 'paused' },
  ],
  ['paused', 'Serving from Local; this machine finishes its requests', { machine: 'draining' }],
  [
    'paused',
    'Not serving: this machine is held back',
    { ok: false, configured: ['local'], localHealth: 'unavailable', machine: 'paused' },
  ],
  [
    'broken',
    'Serving from Groq; your GPUs reject your key',
    { labels: { local: 'Your GPUs' }, skipped: { local: 'credentials' } },
  ],
  ['off', 'Nothing is configured', { configured: [] }],
  [
    'broken',
    'Nothing can answer: Groq rejects your key',
    { ok: false, configured: ['hosted_a'], skipped: { hosted_a: 'credentials' } },
  ],
])('the tray state is the shape %s with the line: %s', (shape, line, scene) => {
  expect(describeServing(factsOf(scene))).toEqual({ shape, line, inFlight: 0 });
});

test('a label of any length is cut between characters, and short enough for a Windows tooltip', async () => {
  const labels = { local: '🦙'.repeat(250) };
  const host = createFakeHost({ labels, inFlight: { local: 1_000_000 } });
  const [tooltip = ''] = (await startDesktop({ host })).tray().tooltips;
  expect(tooltip.length).toBeLessThanOrEqual(127);
  expect(tooltip.isWellFormed()).toBe(true);
  expect(tooltip).toMatch(/🦙… · 1000000 in flight$/u);
});

test('the tray names the state in its tooltip and in the first, unclickable entry', async () => {
  const inFlight = { local: 1, hosted_b: 2 };
  const { tray } = await startDesktop({ host: createFakeHost({ inFlight }) });
  expect(tray().tooltips).toEqual(['Inglenook: Serving from Local · 3 in flight']);
  expect(tray().menu.items[0]).toEqual({ label: 'Serving from Local', enabled: false });
});

test.each([
  ['R&D', 'R&&D'],
  ['מנוע שלי', 'מנוע שלי'],
  ['Groq\u202E\u001b[2J', 'Groq⟨U+202E⟩⟨U+001B⟩[2J'],
])('the tray’s menu shows the label %j as %j', async (label, shown) => {
  const { tray } = await startDesktop({ host: createFakeHost({ labels: { local: label } }) });
  expect(tray().menu.items[0]?.label).toBe(`Serving from ${shown}`);
});

test('the tray changes icon, words and menu together', async () => {
  const { tray, host } = await startDesktop();
  host.change({ configured: [] });
  expect(tray().images).toEqual(['/icons/closed.png', '/icons/off.png']);
  expect(tray().tooltips.at(-1)).toBe('Inglenook: Nothing is configured');
  expect(tray().menus).toHaveLength(2);
});

test('for a new count the tray keeps its menu, does not ask for the login item, and changes its tooltip once a second', async () => {
  let reads = 0;
  const loginItem = { isOn: () => ++reads > 0, set: () => undefined };
  const { tray, host, clock } = await startDesktop({ loginItem });
  for (let count = 1; count <= 8; count++) {
    host.change({ inFlight: { local: count } });
    clock.advance(250);
  }
  expect(tray().menus).toHaveLength(1);
  expect(tray().tooltips.slice(1)).toEqual([
    'Inglenook: Serving from Local · 4 in flight',
    'Inglenook: Serving from Local · 8 in flight',
  ]);
  expect(reads).toBe(1);
});

test.each(['linux', 'win32'] as const)(
  'a left click on the tray opens the window (%s)',
  async (platform) => {
    const { tray, window } = await startDesktop({ platform });
    tray().emit('click');
    expect(window().state).toBe('shown');
  },
);

test('a left click on the tray of macOS opens its menu alone, and its images can be recoloured', async () => {
  const { tray } = await startDesktop({ platform: 'darwin' });
  expect(tray().listenerCount('click')).toBe(0);
  expect(tray().images).toEqual(['/icons/closedTemplate.png']);
});

test('the tray’s menu has everything, since clicks on the icon may never arrive', async () => {
  const updater = { means: 'tell' as const, load: () => Promise.reject(new Error('none')) };
  const { tray } = await startDesktop({ updater });
  expect(tray().menu.labels).toEqual([
    'Serving from Local',
    'separator',
    'Copy base URL (http://localhost:47900/v1)',
    'Open dashboard',
    'Open in browser',
    'Join a gateway…',
    'separator',
    'Hold back this machine',
    'Finish, then hold back this machine',
    'Free the GPU',
    'Never spend money',
    'separator',
    'Start at login',
    'Keep API keys in the keychain',
    'separator',
    'Open logs',
    'Diagnostics',
    'Check for updates',
    'Check for updates every day',
    'about',
    'separator',
    'Quit',
  ]);
});

test('the tray’s menu copies the base URL, opens the browser with a code of its own, and the folder of the logs', async () => {
  const { choose, copied, openedOutside, openedPaths } = await startDesktop();
  for (const label of ['Copy base URL', 'Open in browser', 'Open logs']) await choose(label);
  expect(copied).toEqual(['http://localhost:47900/v1']);
  expect(openedOutside).toEqual(['http://127.0.0.1:47900/#code=2']);
  expect(openedPaths).toEqual(['/data/logs']);
});

test.each([
  ['Join a gateway…', 'join'],
  ['Diagnostics', 'settings/about'],
])('the tray’s menu opens the window for “%s”', async (label, view) => {
  const { tray, window } = await startDesktop();
  await settle();
  tray().menu.click(label);
  expect(window().loaded.at(-1)).toBe(`http://127.0.0.1:47900/#/${view}`);
});

test('the tray’s menu hands the operating system no address but our own', async () => {
  const host = createFakeHost();
  const { choose, openedOutside, boxes } = await startDesktop({ host });
  for (const link of ['file:///etc/passwd', 'https://example.com/', 'smb://127.0.0.1/x']) {
    host.controlLink = () => link;
    await choose('Open in browser');
  }
  expect([openedOutside.length, boxes.length]).toEqual([0, 3]);
});

test('the tray’s menu holds back, drains, frees and resumes this machine, and offers only what changes something', async () => {
  const { tray, host, choose } = await startDesktop();
  for (const label of ['Finish, then hold back', 'Resume this', 'Hold back this', 'Free the GPU'])
    await choose(label);
  expect(host.calls.slice(1)).toEqual(['machine drained', 'machine on', 'machine paused', 'free']);
  expect(tray().menu.labels).not.toContain('Hold back this machine');
});

test('the tray’s menu switches spending off', async () => {
  const { tray, host, choose } = await startDesktop();
  await choose('Never spend money');
  expect(host.calls).toContain('zero-spend true');
  expect(tray().menu.item('Never spend money').checked).toBe(true);
});

test('the tray’s menu shows the login item as the system has it, and the system’s refusal', async () => {
  const set = () => {
    throw new Error('EACCES: permission denied');
  };
  const loginItem = { isOn: () => false, set };
  const { tray, choose, boxes, errors, window } = await startDesktop({ loginItem });
  await choose('Start at login');
  expect(tray().menu.item('Start at login').checked).toBe(false);
  expect(boxes.at(-1)?.detail).toContain('EACCES');
  expect(window().state).toBe('shown');
  // A box of that kind would stop the gateway until it is closed.
  expect(errors).toEqual([]);
});

test('the tray’s menu offers no start at login to an app that is not installed, which would start bare Electron', async () => {
  const { tray } = await startDesktop({ loginItem: null });
  expect(tray().menu.labels).not.toContain('Start at login');
});

const OWN = ['Copy base URL', 'Open in browser', 'Join a gateway…', 'Settings…'];
const REST = ['editMenu', 'View', 'windowMenu'];

test.each<[NodeJS.Platform, string[], string[]]>([
  ['darwin', ['appMenu', 'fileMenu', 'Gateway', ...REST], OWN],
  ['linux', ['Gateway', ...REST], [...OWN, 'about', 'separator', 'quit']],
])(
  'the menu bar has what its keys and desktops without a tray need (%s)',
  async (platform, menus, own) => {
    const { appMenu, window } = await startDesktop({ platform });
    expect(appMenu?.labels).toEqual(menus);
    const entries = appMenu?.item('Gateway').submenu as { label?: string; role?: string }[];
    expect(entries.map(({ label, role }) => label ?? role ?? 'separator')).toEqual(own);
    const settings = entries.find(({ label }) => label === 'Settings…');
    expect(settings).toMatchObject({ accelerator: 'CmdOrCtrl+,' });
    (settings as { click: () => void }).click();
    await settle();
    expect(window().loaded.at(-1)).toBe('http://127.0.0.1:47900/#/settings');
  },
);

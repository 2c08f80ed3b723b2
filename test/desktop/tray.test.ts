import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createFakeHost, type Scene } from './fixtures.ts';
import { startDesktop } from './harness.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('the tray', () => {
  test('the tray names the state in its tooltip and in the first, unclickable entry', async () => {
    const { tray } = await startDesktop({ host: createFakeHost({ inFlight: { local: 2 } }) });
    expect(tray().tooltips).toEqual(['Inglenook: Serving from Local · 2 in flight']);
    expect(tray().menu.items[0]).toEqual({
      label: 'Serving from Local · 2 in flight',
      enabled: false,
    });
  });

  test('the tray shows the codes of hidden characters that an upstream or a name brings', async () => {
    const label = 'Groq\u202E\u001b[2J';
    const host = createFakeHost({
      open: ['hosted_a'],
      labels: { hosted_a: label, local: label },
    });
    const { tray } = await startDesktop({ host });
    const shown = [...tray().tooltips, ...tray().menu.items.map((item) => item.label ?? '')];
    const seen = 'Groq⟨U+202E⟩⟨U+001B⟩[2J';
    expect(shown).toContain(`Inglenook: Serving from ${seen}`);
    expect(shown).toContain(`Try ${seen} again now`);
    expect(shown.join('')).not.toMatch(/[\p{Cc}\u202E\u2066]/u);
  });

  test('the tray changes icon, words and menu together', async () => {
    const { tray, host } = await startDesktop();
    host.change({ configured: [] });
    expect(tray().images).toEqual(['/icons/closed.png', '/icons/off.png']);
    expect(tray().tooltips.at(-1)).toBe('Inglenook: Nothing is configured');
    expect(tray().menus).toHaveLength(2);
  });

  test('the tray opens the window on a left click where that does nothing by itself', async () => {
    const windows = await startDesktop({ platform: 'win32' });
    windows.tray().emit('click');
    expect(windows.window().state).toBe('shown');
    const mac = await startDesktop({ platform: 'darwin' });
    expect(mac.tray().listenerCount('click')).toBe(0);
  });

  test('the tray gives macOS images that it can recolour', async () => {
    const { tray } = await startDesktop({ platform: 'darwin' });
    expect(tray().images).toEqual(['/icons/closedTemplate.png']);
  });

  test('the tray is not touched when nothing that it shows has changed', async () => {
    const { tray, host } = await startDesktop();
    for (let count = 0; count < 5; count++) {
      host.change({});
      await vi.advanceTimersByTimeAsync(1000);
    }
    expect(tray().menus).toHaveLength(1);
  });

  test.each(['darwin', 'win32'] as const)(
    'the tray leaves an open menu alone and catches up afterwards (%s)',
    async (platform) => {
      const { tray, host } = await startDesktop({ platform });
      const open = tray().menu;
      open.emit('menu-will-show');
      host.change({ configured: [] });
      await vi.advanceTimersByTimeAsync(1000);
      expect(tray().menu).toBe(open);
      open.emit('menu-will-close');
      await vi.advanceTimersByTimeAsync(1);
      expect(tray().menu.items[0]?.label).toBe('Nothing is configured');
    },
  );
});

test('the tray’s menu has everything, since clicks on the icon may never arrive', async () => {
  const host = createFakeHost({ open: ['hosted_a'], inFlight: { local: 2 } });
  const { tray } = await startDesktop({
    host,
    updater: { means: 'tell', load: () => Promise.reject(new Error('none')) },
  });
  expect(tray().menu.items.map(({ label, type }) => label ?? type)).toEqual([
    'Serving from Local · 2 in flight',
    'separator',
    'Copy base URL (http://localhost:47900/v1)',
    'Open dashboard',
    'Open in browser',
    'Join a gateway…',
    'separator',
    'Pause this machine',
    'Drain this machine',
    'Free the GPU',
    'Free the GPU for 2 hours',
    'Try Groq again now',
    'Local only',
    'Warm up the on-demand GPU automatically (it is ready)',
    'separator',
    'Start at login',
    'Stay awake while requests run',
    'Keep API keys in the keychain (none was found, they are in a file)',
    'separator',
    'Open logs',
    'Diagnostics',
    'Check for updates',
    'Check for updates every day',
    'About Inglenook',
    'separator',
    'Quit (2 requests in flight)',
  ]);
});

describe('actions of the tray’s menu', () => {
  test('the tray’s menu copies the base URL that it shows', async () => {
    const { tray, copied } = await startDesktop();
    expect(tray().menu.item('Copy base URL').label).toContain('http://localhost:47900/v1');
    tray().menu.click('Copy base URL');
    expect(copied).toEqual(['http://localhost:47900/v1']);
  });

  test('the tray’s menu opens the browser on the gateway’s own page with a code of its own', async () => {
    const { tray, openedOutside } = await startDesktop();
    tray().menu.click('Open in browser');
    await vi.advanceTimersByTimeAsync(0);
    expect(openedOutside).toEqual(['http://127.0.0.1:47900/#code=2']);
  });

  test('the tray’s menu asks in the window for the join command of another gateway', async () => {
    const { tray, window } = await startDesktop();
    await vi.advanceTimersByTimeAsync(0);
    tray().menu.click('Join a gateway…');
    expect(window().loaded.at(-1)).toBe('http://127.0.0.1:47900/#/join');
  });

  test('the tray’s menu hands the operating system no address but our own', async () => {
    const host = createFakeHost();
    const { tray, openedOutside, boxes } = await startDesktop({ host });
    for (const link of ['file:///etc/passwd', 'https://example.com/', 'smb://127.0.0.1/x']) {
      host.controlLink = () => link;
      tray().menu.click('Open in browser');
      await vi.advanceTimersByTimeAsync(0);
    }
    expect(openedOutside).toEqual([]);
    expect(boxes).toHaveLength(3);
  });
});

describe('switches of the tray’s menu', () => {
  test('the tray’s menu pauses, drains and resumes this machine, and offers only what changes something', async () => {
    const { tray, host } = await startDesktop();
    tray().menu.click('Drain this machine');
    await vi.advanceTimersByTimeAsync(0);
    expect(host.calls).toContain('machine drained');
    const labels = tray().menu.items.map(({ label }) => label);
    expect(labels).not.toContain('Pause this machine');
    tray().menu.click('Resume this machine');
    await vi.advanceTimersByTimeAsync(0);
    expect(host.calls).toContain('machine on');
    tray().menu.click('Pause this machine');
    await vi.advanceTimersByTimeAsync(0);
    expect(host.calls).toContain('machine paused');
  });

  test('the tray’s menu frees the memory of this machine, for a time or until resumed', async () => {
    const { tray, host } = await startDesktop();
    tray().menu.click('Free the GPU for 2 hours');
    await vi.advanceTimersByTimeAsync(0);
    tray().menu.click('Free the GPU');
    await vi.advanceTimersByTimeAsync(0);
    expect(host.calls).toEqual(expect.arrayContaining(['free 120', 'free until told']));
  });

  test('the tray’s menu switches Local only on', async () => {
    const { tray, host } = await startDesktop();
    tray().menu.click('Local only');
    await vi.advanceTimersByTimeAsync(0);
    expect(host.calls).toContain('zero-spend true');
    expect(tray().menu.item('Local only').checked).toBe(true);
  });

  test.each<[string, Scene]>([
    ['whose circuit is open', { open: ['hosted_a'] }],
    ['that is skipped', { skipped: { hosted_a: 'quota' } }],
  ])('the tray’s menu offers to try an upstream again %s, and no other', async (_which, scene) => {
    const { tray, host } = await startDesktop({ host: createFakeHost(scene) });
    expect(tray().menu.items.filter(({ label }) => label?.startsWith('Try '))).toHaveLength(1);
    tray().menu.click('Try Groq again now');
    expect(host.calls).toContain('reset hosted_a');
  });

  test('the tray’s menu shows the login item as the system has it, and the system’s refusal', async () => {
    const { tray, boxes } = await startDesktop({
      loginItem: {
        state: () => 'off',
        set: () => {
          throw new Error('EACCES: permission denied');
        },
      },
    });
    tray().menu.click('Start at login');
    await vi.advanceTimersByTimeAsync(0);
    expect(tray().menu.item('Start at login').checked).toBe(false);
    expect(boxes.at(-1)?.detail).toContain('EACCES');
  });

  test('the tray’s menu says when the system has disabled the login item', async () => {
    const { tray } = await startDesktop({
      loginItem: { state: () => 'needs approval', set: () => undefined },
    });
    const { label, checked } = tray().menu.item('Start at login');
    expect([label, checked]).toEqual(['Start at login (allow it in System Settings)', true]);
  });

  test('the tray’s menu names the versions of all that runs', async () => {
    const { tray, app } = await startDesktop();
    tray().menu.click('About');
    expect(app.about).toEqual({
      version: '1.2.3 (Electron 45.0.0, Chromium 150.0, Node 24.0.0)',
      shown: 1,
    });
  });

  test('the tray’s menu shows what an owner looks up when something is wrong', async () => {
    const { tray, window } = await startDesktop();
    tray().menu.click('Diagnostics');
    await vi.advanceTimersByTimeAsync(0);
    expect(window().loaded.at(-1)).toBe('http://127.0.0.1:47900/#/settings/about');
  });

  test('the tray’s menu opens the folder of the logs', async () => {
    const { tray, openedPaths } = await startDesktop();
    tray().menu.click('Open logs');
    expect(openedPaths).toEqual(['/data/logs']);
  });
});

describe('the warm-up switch', () => {
  const LABEL = 'Warm up the on-demand GPU';

  test('the warm-up switch shows the state that the host confirmed', async () => {
    const { tray, host } = await startDesktop();
    expect(tray().menu.item(LABEL)).toMatchObject({ checked: true, enabled: true });
    tray().menu.click(LABEL);
    await vi.advanceTimersByTimeAsync(0);
    expect(host.calls).toContain('warmup false');
    expect(tray().menu.item(LABEL)).toMatchObject({ checked: false });
  });

  test('the warm-up switch flips back, and says why, when the host refuses', async () => {
    const host = createFakeHost({}, null, () =>
      Promise.resolve({ ok: false, message: 'INGLENOOK_ONDEMAND_WARMUP is set.' }),
    );
    const { tray, boxes, errors, window } = await startDesktop({ host });
    tray().menu.click(LABEL);
    await vi.advanceTimersByTimeAsync(0);
    expect(tray().menus).toHaveLength(2);
    expect(tray().menu.item(LABEL)).toMatchObject({ checked: true });
    expect(window().state).toBe('shown');
    expect(boxes[0]?.detail).toBe('INGLENOOK_ONDEMAND_WARMUP is set.');
    // A box of that kind would stop the gateway until it is closed.
    expect(errors).toEqual([]);
  });

  test.each([
    ['idle', 'Warm up the on-demand GPU automatically'],
    ['warming', 'Warm up the on-demand GPU automatically (it is starting)'],
    ['failed', 'Warm up the on-demand GPU automatically (its last start failed)'],
  ] as const)('the warm-up switch names the state of the warm-up: %s', async (warmup, label) => {
    const { tray } = await startDesktop({ host: createFakeHost({ warmup }) });
    expect(tray().menu.item(LABEL).label).toBe(label);
  });

  test('the warm-up switch cannot be used, and says why, where on-demand is not configured', async () => {
    const { tray } = await startDesktop({ host: createFakeHost({ configured: ['local'] }) });
    expect(tray().menu.item(LABEL)).toMatchObject({ checked: false, enabled: false });
    expect(tray().menu.item(LABEL).label).toContain('it is not configured');
  });
});

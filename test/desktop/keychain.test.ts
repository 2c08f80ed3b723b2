import { expect, test } from 'vitest';
import { createKeychain } from '../../main/desktop/keychain.ts';
import { FakeSafeStorage } from './fake-electron.ts';
import { type DesktopScene, keyFile, memoryFile, settle, startDesktop } from './harness.ts';

function keychainOf(platform: NodeJS.Platform, file = keyFile()) {
  const safeStorage = new FakeSafeStorage(platform);
  // Of Electron's only what is used.
  const real = safeStorage as unknown as Electron.SafeStorage;
  return {
    file,
    safeStorage,
    open: () => createKeychain({ safeStorage: real, platform, file }).open(),
  };
}

test('the keychain opens in the next run what was sealed in this one', async () => {
  const { open, safeStorage } = keychainOf('darwin');
  const sealed = (await open())?.seal('hosted_a.apiKey', 'sk-1') ?? '';
  expect((await open())?.open('hosted_a.apiKey', sealed)).toBe('sk-1');
  expect(safeStorage.questions.filter((question) => question === 'encrypt')).toHaveLength(1);
});

test('the keychain is sealed again when the system asks for it', async () => {
  const { open, safeStorage, file } = keychainOf('win32');
  await open();
  const kept = file.read();
  safeStorage.shouldReEncrypt = true;
  expect(await open()).not.toBeNull();
  expect(file.old).toEqual([kept]);
});

test.each(['locked', 'absent'] as const)(
  'the app does not use a Linux keyring that is %s at the first start, because Chromium would seal with a public password',
  async (mode) => {
    const { open, safeStorage, file } = keychainOf('linux');
    safeStorage.mode = mode;
    expect([await open(), file.read()]).toEqual([null, null]);
  },
);

test('a key that was sealed with Chromium’s public password is not used', async () => {
  const { open } = keychainOf('linux', keyFile(Buffer.from('v10 peanuts AAAA').toString('base64')));
  expect(await open()).toBeNull();
});

test('the app asks nothing of a desktop without a keyring of its own', async () => {
  const { open, safeStorage } = keychainOf('linux');
  safeStorage.backend = 'basic_text';
  expect([await open(), safeStorage.questions]).toEqual([null, []]);
});

test.each<[NodeJS.Platform, 'locked' | 'absent']>([
  ['linux', 'locked'],
  ['darwin', 'locked'],
  ['darwin', 'absent'],
])(
  'a keychain of %s that is %s for now leaves the key as it was, and opens later',
  async (platform, mode) => {
    const { open, safeStorage, file } = keychainOf(platform);
    await open();
    const kept = file.read();
    safeStorage.mode = mode;
    expect([await open(), file.read()]).toEqual([null, kept]);
    safeStorage.mode = 'open';
    expect(await open()).not.toBeNull();
  },
);

const LABEL = 'Keep API keys in the keychain';

/** An app whose keyring is in this mode; `old` was sealed in an earlier run. */
async function started(mode: FakeSafeStorage['mode'], old: boolean, scene: DesktopScene = {}) {
  const earlier = keychainOf('linux');
  if (old) await earlier.open();
  const lostKeys = old ? ['hosted_a.apiKey'] : [];
  const prepare: DesktopScene['prepare'] = ({ safeStorage }) => void (safeStorage.mode = mode);
  const desktop = await startDesktop({ prepare, lostKeys, keyFile: earlier.file, ...scene });
  await settle();
  const item = () => desktop.tray().menu.item(LABEL);
  return { ...desktop, file: earlier.file, item, click: () => desktop.choose(LABEL) };
}

test('API keys do not wait for a keychain that nothing was sealed with: it is asked when a key is saved', async () => {
  const { safeStorage, host, item } = await started('open', false);
  expect([safeStorage.questions, item().checked]).toEqual([[], true]);
  host.saveSecret();
  await settle();
  expect(host.calls.slice(1)).toEqual(['keys opened', 'keys to the keychain']);
});

test('API keys move to the file and back on request', async () => {
  const preferences = memoryFile();
  const { host, item, click } = await started('open', false, { preferences });
  host.saveSecret();
  await settle();
  await click();
  expect([host.calls.at(-1), item().checked]).toEqual(['keys to the file', false]);
  expect(preferences.now()).toMatchObject({ keysIn: 'file' });
  await click();
  expect([host.calls.at(-1), item().checked]).toEqual(['keys to the keychain', true]);
});

test.each(['locked', 'silent'] as const)(
  'API keys take effect when a keyring opens that was %s at the start, and nothing is overwritten',
  async (mode) => {
    const { safeStorage, clock, host, file, item, notifications } = await started(mode, true);
    const told = notifications[0]?.options.body;
    expect(told).toContain('Unlock it, or enter them again: hosted_a.apiKey');
    clock.advance(9999);
    await settle();
    expect([host.calls, file.old]).toEqual([['start'], []]);
    safeStorage.mode = 'open';
    safeStorage.answer();
    clock.advance(1);
    await settle();
    expect(host.calls.slice(1)).toEqual(['keys opened', 'keys to the keychain']);
    expect([file.old, item().label]).toEqual([[], LABEL]);
  },
);

test('a click of the owner asks a locked keyring for its API keys again, and never drops them', async () => {
  const { safeStorage, clock, host, file, item, click, boxes } = await started('locked', true);
  for (const wait of [10_000, 60_000]) {
    clock.advance(wait);
    await settle();
  }
  const asked = safeStorage.questions.length;
  clock.advance(600_000);
  await settle();
  expect(safeStorage.questions).toHaveLength(asked);
  expect(item()).toMatchObject({ checked: false, label: expect.stringContaining('try again') });
  await click();
  expect(boxes.at(-1)?.detail).toContain('unlock or install');
  expect([file.old, host.calls]).toEqual([[], ['start']]);
  safeStorage.mode = 'open';
  await click();
  expect(host.calls.slice(1)).toEqual(['keys opened', 'keys to the keychain']);
  expect(file.old).toEqual([]);
});

test('API keys begin with a new key when the keychain no longer knows the old one, which is kept aside', async () => {
  const { safeStorage, file, host, click, item } = await started('open', true, {
    prepare: (fake) => void (fake.safeStorage.owner = 'ben'),
  });
  expect(safeStorage.questions).toContain('decrypt');
  const kept = file.read();
  await click();
  expect(file.old).toEqual([kept]);
  expect([host.calls.at(-1), item().checked]).toEqual(['keys to the keychain', true]);
});

test('API keys stay in the file without a keychain, and the menu says why', async () => {
  const { host, item } = await started('absent', false);
  host.saveSecret();
  await settle();
  expect(item()).toMatchObject({ checked: false, label: expect.stringContaining('no keyring') });
  expect(host.calls).toEqual(['start']);
});

test('API keys that cannot be moved stay where they are, and the box says why', async () => {
  const { host, click, boxes, item } = await started('open', false);
  host.saveSecret();
  await settle();
  host.keepSecretsIn = () => ({ kind: 'unwritten', message: 'ENOSPC: no space left on device' });
  await click();
  expect(boxes.at(-1)?.detail).toContain('ENOSPC');
  expect(item().checked).toBe(true);
});

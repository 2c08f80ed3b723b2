import { describe, expect, test } from 'vitest';
import type { SafeStorage } from 'electron';
import { type Keychain, type KeychainDeps, openKeychain } from '../../main/desktop/keychain.ts';
import { createSecretBox, newBoxKey } from '../../main/platform/secrets.ts';
import { createFakeHost } from './fixtures.ts';
import { memoryFile, settle, startDesktop } from './harness.ts';

type Backend = ReturnType<SafeStorage['getSelectedStorageBackend']>;

/** A keychain of one system; another `owner` cannot open what it has sealed. */
function createSafeStorage(owner = 'ann', backend: Backend = 'gnome_libsecret') {
  const state = { isThere: true, shouldReEncrypt: false, sealed: 0 };
  const safeStorage: KeychainDeps['safeStorage'] = {
    getSelectedStorageBackend: () => backend,
    isAsyncEncryptionAvailable: () => Promise.resolve(state.isThere),
    encryptStringAsync(text) {
      state.sealed++;
      return Promise.resolve(Buffer.from(`${owner}:${text}`));
    },
    decryptStringAsync(bytes) {
      const [whose, text = ''] = bytes.toString().split(':');
      if (whose !== owner) return Promise.reject(new Error('Error while decrypting'));
      return Promise.resolve({ result: text, shouldReEncrypt: state.shouldReEncrypt });
    },
  };
  return { safeStorage, state };
}

function textFile() {
  let text: string | null = null;
  return { read: () => text, write: (next: string) => void (text = next) };
}

const kindOf = ({ state }: Keychain) => state.kind;

function boxOf({ state }: Keychain) {
  if (state.kind !== 'open') throw new Error(state.why);
  return state.box;
}

describe('the keychain', () => {
  test('the keychain opens in the next run what was sealed in this one', async () => {
    const file = textFile();
    const { safeStorage, state } = createSafeStorage();
    const first = await openKeychain({ safeStorage, platform: 'darwin', file });
    const sealed = boxOf(first).seal('hosted_a.apiKey', 'sk-1');
    const second = await openKeychain({ safeStorage, platform: 'darwin', file });
    expect(boxOf(second).open('hosted_a.apiKey', sealed)).toBe('sk-1');
    expect(state.sealed).toBe(1);
  });

  test('the keychain is sealed again when the system asks for it', async () => {
    const file = textFile();
    const { safeStorage, state } = createSafeStorage();
    await openKeychain({ safeStorage, platform: 'win32', file });
    state.shouldReEncrypt = true;
    expect(kindOf(await openKeychain({ safeStorage, platform: 'win32', file }))).toBe('open');
    expect(state.sealed).toBe(2);
  });

  test.each(['basic_text', 'unknown'] as const)(
    'a keychain with the backend %s, whose password everyone knows, counts as none',
    async (backend) => {
      const { safeStorage, state } = createSafeStorage('ann', backend);
      const file = textFile();
      expect(kindOf(await openKeychain({ safeStorage, platform: 'linux', file }))).toBe('none');
      expect([state.sealed, file.read()]).toEqual([0, null]);
    },
  );

  test('a keychain that the system does not offer now counts as none', async () => {
    const { safeStorage, state } = createSafeStorage();
    state.isThere = false;
    const opened = await openKeychain({ safeStorage, platform: 'darwin', file: textFile() });
    expect(kindOf(opened)).toBe('none');
  });

  test('a lost keychain is left as it is, and starts again only on request', async () => {
    const file = textFile();
    const before = createSafeStorage('ann');
    await openKeychain({ safeStorage: before.safeStorage, platform: 'linux', file });
    const kept = file.read();
    const { safeStorage } = createSafeStorage('ben');
    const lost = await openKeychain({ safeStorage, platform: 'linux', file });
    expect(lost.state).toEqual({ kind: 'lost', why: 'Error while decrypting' });
    expect(file.read()).toBe(kept);
    await lost.renew();
    expect(kindOf(await openKeychain({ safeStorage, platform: 'linux', file }))).toBe('open');
  });
});

describe('secret boxes', () => {
  const box = createSecretBox(newBoxKey());

  test('a secret box opens what it has sealed, for the same setting alone', () => {
    const sealed = box.seal('a.key', 'ключ 🔑');
    expect(sealed).not.toContain('ключ');
    expect(box.open('a.key', sealed)).toBe('ключ 🔑');
    expect(box.open('b.key', sealed)).toBeNull();
  });

  test('a secret box opens nothing that was changed, cut, or sealed with another key', () => {
    const sealed = box.seal('a.key', 'secret');
    const bytes = Buffer.from(sealed, 'base64');
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    for (const text of [bytes.toString('base64'), sealed.slice(0, 20), '', 'no base64 at all']) {
      expect(box.open('a.key', text)).toBeNull();
    }
    expect(createSecretBox(newBoxKey()).open('a.key', sealed)).toBeNull();
  });

  test('a secret box never seals the same text to the same bytes', () => {
    expect(box.seal('a.key', 'x')).not.toBe(box.seal('a.key', 'x'));
  });
});

describe('API keys and the keychain', () => {
  const LABEL = 'Keep API keys in the keychain';
  const box = createSecretBox(newBoxKey());
  const renew = () => Promise.resolve(box);
  const open: Keychain = { state: { kind: 'open', box }, renew };

  test('API keys move to the keychain at the start, and back on request', async () => {
    const preferences = memoryFile();
    const { tray, host } = await startDesktop({ keychain: open, preferences });
    expect(host.calls).toEqual(['start', 'keys to the keychain']);
    expect(tray().menu.item(LABEL)).toMatchObject({ checked: true, enabled: true });
    tray().menu.click(LABEL);
    await settle();
    expect(host.calls.at(-1)).toBe('keys to the file');
    expect(tray().menu.item(LABEL).checked).toBe(false);
    expect(preferences.now()).toMatchObject({ keysIn: 'file' });
    const again = await startDesktop({ keychain: open, preferences });
    expect(again.host.calls.at(-1)).toBe('keys to the file');
  });

  test('API keys stay in the file without a keychain, and the menu says so', async () => {
    const { tray, host } = await startDesktop();
    expect(tray().menu.item(LABEL)).toMatchObject({ checked: false, enabled: false });
    expect(tray().menu.item(LABEL).label).toContain('they are in a file');
    expect(host.calls).toEqual(['start']);
  });

  test('API keys are kept in the file after the keychain was lost, until a new one is asked for', async () => {
    const lost: Keychain = { state: { kind: 'lost', why: 'no' }, renew };
    const { tray, host } = await startDesktop({ keychain: lost });
    expect(tray().menu.item(LABEL)).toMatchObject({ checked: false, enabled: true });
    expect(host.calls).toEqual(['start']);
    tray().menu.click(LABEL);
    await settle();
    expect(host.calls.at(-1)).toBe('keys to the keychain');
    expect(tray().menu.item(LABEL).checked).toBe(true);
  });

  test('API keys that cannot be moved stay where they are, and the box says why', async () => {
    const host = createFakeHost();
    const { tray, boxes } = await startDesktop({ keychain: open, host });
    host.keepSecretsIn = () => ({ ok: false, message: 'ENOSPC: no space left on device' });
    tray().menu.click(LABEL);
    await settle();
    expect(boxes.at(-1)?.detail).toContain('ENOSPC');
    expect(tray().menu.item(LABEL).checked).toBe(true);
  });
});

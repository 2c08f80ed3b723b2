import { existsSync } from 'node:fs';
import type * as Electron from 'electron';
import type { Host } from '../app/app.ts';
import { messageOf } from '../platform/errors.ts';
import { readTextFile, replaceFile, setAside } from '../platform/files.ts';
import type { Log } from '../platform/log.ts';
import { createSecretBox, newBoxKey, type SecretBox } from '../platform/secrets.ts';
import type { ShellDeps } from './system.ts';

export interface KeychainDeps {
  readonly safeStorage: Electron.SafeStorage;
  readonly platform: NodeJS.Platform;
  /** Holds the sealed key, as base64; null if there is none yet. A write keeps an older one under another name. */
  readonly file: { read(): string | null; write(text: string): void };
}

export const createKeyFile = (path: string): KeychainDeps['file'] => ({
  read: () => readTextFile(path),
  write(text) {
    if (existsSync(path)) setAside(path, Date.now());
    replaceFile(path, text);
  },
});

type State =
  /** Nothing has been sealed yet, so the keychain has asked nobody for its password. */
  | { readonly kind: 'unopened' }
  | { readonly kind: 'open'; readonly box: SecretBox }
  /** There is no keychain, or it does not open. Electron does not tell whether that is for now or for good. */
  | { readonly kind: 'closed'; readonly why: string };

const V10 = Buffer.from('v10');
const NO_KEYRING = 'no keyring answers: unlock or install GNOME Keyring or KWallet';

/** The key that seals saved secrets, itself sealed by the system's keychain. */
export type Keychain = ReturnType<typeof createKeychain>;

export function createKeychain({ safeStorage, platform, file }: KeychainDeps) {
  let state: State = { kind: 'unopened' };
  let opening: Promise<SecretBox | null> | null = null;

  /** While no keyring answers on Linux, Chromium seals with a password that every copy of it has. */
  function mustProtect(sealed: Buffer): void {
    if (platform === 'linux' && sealed.subarray(0, 3).equals(V10)) throw new Error(NO_KEYRING);
  }

  async function keep(key: Buffer): Promise<SecretBox> {
    const sealed = await safeStorage.encryptStringAsync(key.toString('base64'));
    mustProtect(sealed);
    file.write(`${sealed.toString('base64')}\n`);
    return createSecretBox(key);
  }

  async function openBox(): Promise<SecretBox> {
    if (platform === 'linux' && safeStorage.getSelectedStorageBackend() === 'basic_text')
      throw new Error(NO_KEYRING);
    if (!(await safeStorage.isAsyncEncryptionAvailable()))
      throw new Error('the keychain of this system is not available');
    const text = file.read();
    if (text === null) return keep(newBoxKey());
    const sealed = Buffer.from(text, 'base64');
    mustProtect(sealed);
    const { result, shouldReEncrypt } = await safeStorage.decryptStringAsync(sealed);
    const key = Buffer.from(result, 'base64');
    return shouldReEncrypt ? keep(key) : createSecretBox(key);
  }

  async function begin(): Promise<SecretBox | null> {
    try {
      const box = await openBox();
      state = { kind: 'open', box };
      return box;
    } catch (error) {
      state = { kind: 'closed', why: messageOf(error) };
      return null;
    } finally {
      opening = null;
    }
  }

  return {
    state: () => state,
    /** Opens it, or tries again; null if it stays closed. It never asks twice at a time. */
    open: () => (opening ??= state.kind === 'open' ? Promise.resolve(state.box) : begin()),
    /** Begins with a new key; what the old one has sealed stays sealed. Throws if nothing can be sealed now. */
    async renew(): Promise<SecretBox> {
      const box = await keep(newBoxKey());
      state = { kind: 'open', box };
      return box;
    },
  };
}

/** The pauses before retries after the start. Later ones follow the owner's click, and the next key that is saved. */
const RETRIES_MS = [10_000, 60_000] as const;

export type KeyStorage = ReturnType<typeof createKeyStorage>;

interface KeyStorageDeps extends Pick<ShellDeps, 'preferences' | 'clock'> {
  readonly keychain: Keychain;
  /** Setting paths of the keys that the start could not open. */
  readonly lostKeys: readonly string[];
  readonly log: Log;
  readonly host: Pick<Host, 'keepSecretsIn' | 'openSecrets' | 'onSecretSaved'>;
  readonly changed: () => void;
}

/** Where saved API keys are: sealed by the keychain, or in a file by choice or for lack of one that opens. */
export function createKeyStorage(deps: KeyStorageDeps) {
  const { host, keychain, preferences, clock, log } = deps;
  const wantsKeychain = () => preferences.current().keysIn === 'keychain';
  let cancel = () => {};

  function keepIn(box: SecretBox | null): void {
    const kept = host.keepSecretsIn(box);
    if (kept.kind !== 'patched') throw new Error(kept.message);
  }

  /** Puts in force what was sealed, and moves all keys to where the owner wants them. */
  async function apply([pause, ...others]: readonly number[] = []): Promise<void> {
    const box = await keychain.open();
    const state = keychain.state();
    if (state.kind === 'closed') log('warn', 'keychain_closed', { why: state.why });
    if (box === null && pause !== undefined) cancel = clock.after(pause, () => void apply(others));
    try {
      if (box !== null) host.openSecrets(box);
      if (box !== null) keepIn(wantsKeychain() ? box : null);
    } catch (error) {
      // The keys stay where they are, and can still be read.
      log('error', 'keys_not_moved', { error: messageOf(error) });
    }
    deps.changed();
  }

  host.onSecretSaved(() => {
    if (wantsKeychain() && keychain.state().kind !== 'open') void apply();
  });
  const [first, ...others] = RETRIES_MS;
  if (keychain.state().kind === 'closed') cancel = clock.after(first, () => void apply(others));
  // The keychain has just opened, or has not answered yet.
  else if (keychain.state().kind === 'open' || deps.lostKeys.length > 0) void apply(RETRIES_MS);

  function place() {
    const state = keychain.state();
    const isClosed = state.kind === 'closed';
    return { isSealed: wantsKeychain() && !isClosed, why: isClosed ? state.why : null };
  }

  return {
    place,
    /** Moves the keys to the other place, or tries the keychain again; throws with a human-readable message. */
    toggle: async () => {
      const { isSealed } = place();
      const box = isSealed ? null : ((await keychain.open()) ?? (await keychain.renew()));
      if (box !== null) host.openSecrets(box);
      if (keychain.state().kind === 'open') keepIn(box);
      preferences.change({ keysIn: isSealed ? 'file' : 'keychain' });
    },
    stop: () => cancel(),
  };
}

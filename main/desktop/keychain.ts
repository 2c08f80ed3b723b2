import type * as Electron from 'electron';
import { messageOf } from '../platform/errors.ts';
import { createSecretBox, newBoxKey, type SecretBox } from '../platform/secrets.ts';
import type { Host } from '../app/app.ts';
import type { Preferences } from './preferences.ts';

/** The key that seals saved secrets, itself sealed by the system's keychain. */
export interface Keychain {
  readonly state: KeychainState;
  /** A box with a new key, which cannot open what another one sealed. */
  renew(): Promise<SecretBox>;
}

type KeychainState =
  | { readonly kind: 'open'; readonly box: SecretBox }
  /** Secrets stay in a file; `why` is human-readable. */
  | { readonly kind: 'none'; readonly why: string }
  /** The keychain can no longer open what it sealed. */
  | { readonly kind: 'lost'; readonly why: string };

export interface KeychainDeps {
  readonly safeStorage: Pick<
    Electron.SafeStorage,
    | 'decryptStringAsync'
    | 'encryptStringAsync'
    | 'getSelectedStorageBackend'
    | 'isAsyncEncryptionAvailable'
  >;
  readonly platform: NodeJS.Platform;
  /** Holds the sealed key, as base64; null if there is none yet. */
  readonly file: { read(): string | null; write(text: string): void };
}

/** Call it when Electron is ready. */
export async function openKeychain(deps: KeychainDeps): Promise<Keychain> {
  const { safeStorage, file } = deps;

  async function keep(key: Buffer): Promise<SecretBox> {
    const sealed = await safeStorage.encryptStringAsync(key.toString('base64'));
    file.write(`${sealed.toString('base64')}\n`);
    return createSecretBox(key);
  }

  async function open(sealed: string): Promise<SecretBox> {
    const bytes = Buffer.from(sealed, 'base64');
    const { result, shouldReEncrypt } = await safeStorage.decryptStringAsync(bytes);
    const key = Buffer.from(result, 'base64');
    return shouldReEncrypt ? keep(key) : createSecretBox(key);
  }

  async function state(): Promise<KeychainState> {
    const why = await missing(deps);
    if (why !== null) return { kind: 'none', why };
    const sealed = file.read();
    try {
      return { kind: 'open', box: await (sealed === null ? keep(newBoxKey()) : open(sealed)) };
    } catch (error) {
      const words = messageOf(error);
      return { kind: sealed === null ? 'none' : 'lost', why: words };
    }
  }

  return { state: await state(), renew: () => keep(newBoxKey()) };
}

async function missing({ safeStorage, platform }: KeychainDeps): Promise<string | null> {
  if (platform === 'linux') {
    const backend = safeStorage.getSelectedStorageBackend();
    // Chromium would then use a password that every copy of it has, which protects nothing.
    if (backend === 'basic_text' || backend === 'unknown')
      return 'no keychain of this desktop was found (GNOME Keyring and KWallet are supported)';
  }
  try {
    const isThere = await safeStorage.isAsyncEncryptionAvailable();
    return isThere ? null : 'the keychain of this system is not available';
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * Where saved API keys are: sealed by the keychain, unencrypted in the file, or in the file because there is no
 * keychain.
 */
export type KeyPlace = 'keychain' | 'file' | 'no keychain';

export type KeyStorage = ReturnType<typeof createKeyStorage>;

interface KeyStorageDeps {
  readonly host: Pick<Host, 'keepSecretsIn'>;
  readonly keychain: Keychain;
  readonly preferences: Preferences;
}

export function createKeyStorage({ host, keychain, preferences }: KeyStorageDeps) {
  let box = keychain.state.kind === 'open' ? keychain.state.box : null;
  let isSealed = false;

  function keep(inKeychain: boolean): void {
    const changed = host.keepSecretsIn(inKeychain ? box : null);
    if (!changed.ok) throw new Error(changed.message);
    isSealed = inKeychain;
  }

  try {
    if (box !== null) keep(preferences.current().keysIn === 'keychain');
  } catch {
    // The write failed: the keys stay where they are, and can still be read.
  }

  return {
    place(): KeyPlace {
      if (keychain.state.kind === 'none') return 'no keychain';
      return isSealed ? 'keychain' : 'file';
    },
    /** Moves the keys to the other place; throws with a human-readable message. */
    async toggle() {
      // The old key was lost: what was sealed with it cannot be recovered.
      if (!isSealed) box ??= await keychain.renew();
      keep(!isSealed);
      preferences.change({ keysIn: isSealed ? 'keychain' : 'file' });
    },
  };
}

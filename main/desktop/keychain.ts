import { messageOf } from '../platform/errors.ts';
import { createSecretBox, newBoxKey, type SecretBox } from '../platform/secret-box.ts';
import type { SafeStorageApi } from './electron-api.ts';

/** The key that seals saved secrets, itself sealed by the system's keychain. */
export interface Keychain {
  readonly state: KeychainState;
  /** A box with a new key, which cannot open what another one sealed. */
  renew(): Promise<SecretBox>;
}

export type KeychainState =
  | { readonly kind: 'open'; readonly box: SecretBox }
  /** Secrets stay in a file; `why` is human-readable. */
  | { readonly kind: 'none'; readonly why: string }
  /** The keychain can no longer open what it sealed. */
  | { readonly kind: 'lost'; readonly why: string };

interface KeychainDeps {
  readonly safeStorage: SafeStorageApi;
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

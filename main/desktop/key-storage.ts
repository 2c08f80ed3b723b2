import type { HostApi } from './host-api.ts';
import type { Keychain } from './keychain.ts';
import type { Preferences } from './preferences.ts';

/**
 * Where saved API keys are: sealed by the keychain, unencrypted in the file, or in the file because there is no
 * keychain.
 */
export type KeyPlace = 'keychain' | 'file' | 'no keychain';

/** Keeps API keys where the owner has chosen. */
export interface KeyStorage {
  place(): KeyPlace;
  /** Moves the keys to the other place; throws with a human-readable message. */
  toggle(): Promise<void>;
}

interface KeyStorageDeps {
  readonly host: Pick<HostApi, 'keepSecretsIn'>;
  readonly keychain: Keychain;
  readonly preferences: Preferences;
}

/** Moves the keys to where the owner wants them. */
export function createKeyStorage({ host, keychain, preferences }: KeyStorageDeps): KeyStorage {
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
    place() {
      if (keychain.state.kind === 'none') return 'no keychain';
      return isSealed ? 'keychain' : 'file';
    },
    async toggle() {
      // The old key was lost: what was sealed with it cannot be recovered.
      if (!isSealed) box ??= await keychain.renew();
      keep(!isSealed);
      preferences.change({ keysIn: isSealed ? 'keychain' : 'file' });
    },
  };
}

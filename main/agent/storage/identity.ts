import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { providerIdOf, publicKeyOf } from '../../platform/agent-identity.ts';
import type { Clock } from '../../platform/clock.ts';
import {
  closeToOthers,
  type FileWarning,
  readSecretFile,
  setAside,
  writeSecretFile,
} from './secret-file.ts';

/** The agent's key, and the id derived from it. */
export interface AgentIdentity {
  /** As in `prv_0123…`. */
  readonly id: string;
  /** The 32 raw bytes in base64url. */
  readonly publicKey: string;
  readonly privateKey: KeyObject;
}

export interface OpenedIdentity {
  readonly identity: AgentIdentity;
  /** For the owner, about the key file. */
  readonly warnings: readonly FileWarning[];
}

const FILE = 'agent-key.pem';

/**
 * The identity in `directory`, created at the first start. An unreadable key is renamed and a new one created: the
 * machine then has a new provider id and must be enrolled again.
 */
export function openIdentity(directory: string, clock: Clock, platform: string): OpenedIdentity {
  const path = join(directory, FILE);
  const saved = readSecretFile(path);
  if (saved.kind === 'missing') return newIdentity(path, []);
  const privateKey = saved.kind === 'text' ? parseKey(saved.text) : null;
  if (privateKey === null) {
    const what = saved.kind === 'text' ? 'is damaged' : `cannot be read (${saved.detail})`;
    const aside = setAside(path, clock);
    const happened = `The agent's key ${path} ${what}. It was set aside as ${aside} and a new one was created, so this machine has a new id.`;
    return newIdentity(path, [{ happened, remedy: JOIN_AGAIN }]);
  }
  if (!closeToOthers(path, platform)) return { identity: identityOf(privateKey), warnings: [] };
  const happened = `The agent's key ${path} could be read by other users of this machine; its permissions are fixed now.`;
  return { identity: identityOf(privateKey), warnings: [{ happened, remedy: DISTRUST }] };
}

/** The identity in `directory`, without repairing or creating anything; null if there is no usable one. */
export function savedIdentity(directory: string): AgentIdentity | null {
  const saved = readSecretFile(join(directory, FILE));
  const privateKey = saved.kind === 'text' ? parseKey(saved.text) : null;
  return privateKey === null ? null : identityOf(privateKey);
}

const JOIN_AGAIN = 'If it had joined another gateway, join it again.';
const DISTRUST = 'If you do not trust all of them, delete the file and join again.';
const MAKE_ROOM = 'Free disk space for the data directory, or make it writable, and start again.';

function newIdentity(path: string, before: readonly FileWarning[]): OpenedIdentity {
  const { privateKey } = generateKeyPairSync('ed25519');
  const failure = writeSecretFile(
    path,
    privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  );
  const identity = identityOf(privateKey);
  if (failure === null) return { identity, warnings: before };
  const happened = `The agent's key could not be written to ${path} (${failure}): until it can, this machine gets a new id at each start.`;
  return { identity, warnings: [...before, { happened, remedy: MAKE_ROOM }] };
}

function parseKey(pem: string): KeyObject | null {
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyType === 'ed25519' ? key : null;
  } catch {
    return null;
  }
}

function identityOf(privateKey: KeyObject): AgentIdentity {
  const publicKey = publicKeyOf(privateKey);
  return { id: providerIdOf(publicKey), publicKey, privateKey };
}

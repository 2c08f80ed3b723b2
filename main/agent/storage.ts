import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Clock } from '../platform/clock.ts';
import { codeOf } from '../platform/errors.ts';
import { closeToOthers, replaceFile, replaceFileAsync, setAside } from '../platform/files.ts';
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { providerIdOf, publicKeyOf } from '../platform/agent-identity.ts';
import { z } from 'zod';
import { parseJson } from '../platform/json.ts';
import { digestOf, isSecretShaped } from '../platform/secrets.ts';
import { createTurns } from '../platform/async.ts';

/** What happened to a file, and the remedy, for the owner. */
export interface FileWarning {
  readonly happened: string;
  readonly remedy: string;
}

/** The content of a small file of the agent; `detail` is the system's code, such as `EACCES`. */
function readSecretFile(path: string) {
  try {
    return { kind: 'text', text: readFileSync(path, 'utf8') } as const;
  } catch (error) {
    const detail = codeOf(error) ?? 'unknown';
    return { kind: detail === 'ENOENT' ? 'missing' : 'unreadable', detail } as const;
  }
}

/** The error code; null once it is written. */
const failureAfter = (written: Promise<void>): Promise<string | null> =>
  written.then(
    () => null,
    (error: unknown) => codeOf(error) ?? 'unknown',
  );

/** The agent's key, and the id derived from it. */
export interface AgentIdentity {
  /** As in `prv_0123…`. */
  readonly id: string;
  /** The 32 raw bytes in base64url. */
  readonly publicKey: string;
  readonly privateKey: KeyObject;
}

const KEY_FILE = 'agent-key.pem';

/**
 * The identity in `directory`, created at the first start. An unreadable key is renamed and a new one created: the
 * machine then has a new provider id and must be enrolled again.
 */
export function openIdentity(directory: string, clock: Clock) {
  const path = join(directory, KEY_FILE);
  const saved = readSecretFile(path);
  if (saved.kind === 'missing') return newIdentity(path, []);
  const privateKey = saved.kind === 'text' ? parseKey(saved.text) : null;
  if (privateKey === null) {
    const what = saved.kind === 'text' ? 'is damaged' : `cannot be read (${saved.detail})`;
    const aside = setAside(path, clock.now());
    const happened = `The agent's key ${path} ${what}. It was set aside as ${aside} and a new one was created, so this machine has a new id.`;
    return newIdentity(path, [{ happened, remedy: JOIN_AGAIN }]);
  }
  if (!closeToOthers(path)) return { identity: identityOf(privateKey), warnings: [] };
  const happened = `The agent's key ${path} could be read by other users of this machine; its permissions are fixed now.`;
  return { identity: identityOf(privateKey), warnings: [{ happened, remedy: DISTRUST }] };
}

const JOIN_AGAIN = 'If it had joined another gateway, join it again.';
const DISTRUST = 'If you do not trust all of them, delete the file and join again.';
const MAKE_ROOM = 'Free disk space for the data directory, or make it writable, and start again.';

function newIdentity(path: string, before: readonly FileWarning[]) {
  const { privateKey } = generateKeyPairSync('ed25519');
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const identity = identityOf(privateKey);
  try {
    replaceFile(path, pem);
    return { identity, warnings: before };
  } catch (error) {
    const happened = `The agent's key could not be written to ${path} (${codeOf(error) ?? 'unknown'}): until it can, this machine gets a new id at each start.`;
    return { identity, warnings: [...before, { happened, remedy: MAKE_ROOM }] };
  }
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

/** Stores the enrolment, which is a secret, across restarts. */
export type EnrollmentFile = ReturnType<typeof createEnrollmentFile>;

const ENROLLMENT_FILE = 'agent.json';

const enrollmentSchema = z.object({
  /** Origin of the gateway, as in `http://192.168.1.10:47900`. */
  registryUrl: z.string(),
  /** The provider id of that enrolment, which is not valid for another key. */
  id: z.string(),
  gatewayToken: z.string().refine(isSecretShaped),
  /** SHA-256 of the enrolment token, in hex: a token that stays in the environment is not used twice. */
  tokenDigest: z.string(),
  /** The other addresses of the join command. */
  others: z.array(z.string()).readonly(),
});
const fileSchema = enrollmentSchema.extend({ version: z.literal(1) });

export type SavedEnrollment = Readonly<z.infer<typeof enrollmentSchema>>;

export function createEnrollmentFile(directory: string, clock: Clock) {
  const path = join(directory, ENROLLMENT_FILE);
  // A machine may leave while its enrolment is being saved.
  const inTurn = createTurns();
  return {
    load() {
      const saved = readSecretFile(path);
      if (saved.kind === 'missing') return { enrolment: null, warning: null };
      const parsed =
        saved.kind === 'text' ? fileSchema.safeParse(parseJson(saved.text)).data : null;
      if (parsed === null || parsed === undefined) {
        const aside = setAside(path, clock.now());
        const happened = `The enrolment of this machine at a gateway could not be read from ${path}; it was set aside as ${aside}.`;
        const remedy = 'Join it again with a new join command from that gateway.';
        return { enrolment: null, warning: { happened, remedy } };
      }
      closeToOthers(path);
      const { version: _, ...enrolment } = parsed;
      return { enrolment, warning: null };
    },
    /** `token` has bought it. Returns the error code, or null once it is on disk. */
    save(enrolment: Omit<SavedEnrollment, 'tokenDigest'>, token: string) {
      const saved = { version: 1, ...enrolment, tokenDigest: digestOf(token) };
      return inTurn(() => failureAfter(replaceFileAsync(path, JSON.stringify(saved))));
    },
    /** A missing file counts as removed. */
    remove: () => inTurn(() => failureAfter(rm(path, { force: true }))),
  };
}

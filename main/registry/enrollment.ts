import { z } from 'zod';
import { JOIN_COMMAND } from '#shared/lifetimes.ts';
import { parsePublicKey, providerIdOf } from '../platform/agent-identity.ts';
import { type Clock, isoTime } from '../platform/clock.ts';
import { digestOf, newSecret } from '../platform/secrets.ts';
import { eventChange, providerChange, type RegistryContext, write } from './context.ts';
import { entryOf, gatewayTokenOf, type TableEntry } from './provider-table.ts';
import { answered, invalidRequest, type Refusal } from '../platform/http/routes.ts';
import {
  type AgentMessage,
  checkMessage,
  invalidSignature,
  readBody,
  unwritten,
} from './responses.ts';
import { type Store, type StoredEnrollment, UNVERIFIED } from './store/store.ts';

const enrollSchema = z.object({
  token: z.string().regex(/^[0-9a-f]{64}$/, 'must be the 64 hex digits of the join command'),
  public_key: z.string(),
});

const BAD_TOKEN: Refusal = {
  kind: 'refused',
  status: 401,
  code: 'invalid_token',
  message: `The enrolment token is unknown, already used or over ${JOIN_COMMAND.words} old.`,
};

/** Enrols the sender of a message; a token admits one machine. */
export async function enroll(message: AgentMessage, open: OpenEnrollments, parts: RegistryContext) {
  const asked = readEnrollment(message, parts);
  if ('kind' in asked) return asked;
  const digest = digestOf(asked.token);
  const enrollment = open.take(digest);
  // Another gateway may have issued it: a store that they share knows.
  if (enrollment === null && parts.store.shared === undefined) return BAD_TOKEN;
  const { entry, undo } = admit(asked.publicKey, asked.sequence, parts);
  // Read now: another enrolment may replace it before the answer.
  const { gatewayToken } = entry;
  const written = await write(
    [
      { kind: 'enrollment_used', digest },
      providerChange(entry, 'enrolled'),
      eventChange(entry, entry.stored.enrolledAt, ['enrolled', `from ${message.ip}`]),
    ],
    parts,
  );
  if (written.kind === 'refused') {
    undo();
    return BAD_TOKEN;
  }
  if (written.kind === 'unwritten') {
    undo();
    if (enrollment !== null) open.putBack(enrollment);
    return unwritten(written.message);
  }
  parts.verifier.providerChanged(entry.id, ['enrolled']);
  return answered({ id: entry.id, gateway_token: gatewayToken, heartbeat_ms: parts.heartbeatMs() });
}

function readEnrollment(message: AgentMessage, parts: RegistryContext) {
  const body = readBody(message.body, enrollSchema);
  if (body.kind === 'refused') return body;
  const { token, public_key: publicKey } = body.value;
  const key = parsePublicKey(publicKey);
  if (key === null) {
    const why = 'must be the 32 bytes of an ed25519 public key in base64url, 43 characters';
    return invalidRequest(`public_key: ${why}`, 'public_key');
  }
  const id = providerIdOf(publicKey);
  const check = checkMessage(message, (keyId) => (keyId === id ? key : null), parts);
  if (check.kind === 'refused') return check;
  if (check.kind === 'unknown_key')
    return invalidSignature(`The keyid must be that of public_key, which is ${id}.`);
  return { token, publicKey, sequence: check.sequence };
}

/** Admits a key, for the first time or again with a new gateway token; the machine keeps its record. */
export function admit(publicKey: string, sequence: number, parts: RegistryContext) {
  const { table, clock, gatewaySecret } = parts;
  const id = providerIdOf(publicKey);
  const known = table.get(id);
  if (known !== undefined) return admitAgain(known, sequence, parts);
  const entry = entryOf(
    {
      id,
      publicKey,
      tokenSalt: newSecret(),
      enrolledAt: clock.now(),
      sequence,
      record: null,
      lastHeartbeatAt: null,
      lastHeartbeatIp: '',
      heartbeatCount: 0,
      verification: UNVERIFIED,
      note: null,
    },
    clock.ticks(),
    gatewaySecret,
  );
  table.add(entry);
  return {
    entry,
    undo: () => {
      // Unless the same key has been admitted again in the meantime.
      if (entry.materialChanges === 0) table.remove(id);
    },
  };
}

function admitAgain(
  entry: TableEntry,
  sequence: number,
  { table, gatewaySecret }: RegistryContext,
) {
  const before = entry.stored;
  const set = (stored: TableEntry['stored']) => {
    entry.stored = stored;
    entry.gatewayToken = gatewayTokenOf(gatewaySecret, stored);
    entry.materialChanges += 1;
    table.touch(entry);
  };
  set({
    ...before,
    tokenSalt: newSecret(),
    // Never lower, so that earlier messages cannot be replayed.
    sequence: Math.max(before.sequence, sequence),
    verification: UNVERIFIED,
  });
  const given = entry.stored.tokenSalt;
  return {
    entry,
    undo: () => {
      const { tokenSalt, verification } = before;
      if (entry.stored.tokenSalt === given) set({ ...entry.stored, tokenSalt, verification });
    },
  };
}

/** Tokens that were issued but not used yet. */
type OpenEnrollments = ReturnType<typeof createOpenEnrollments>;

/** Nobody adds this many machines in an hour; a client in a loop must not fill the disk. */
const MAX_OPEN = 1000;

const TOO_MANY: Refusal = {
  kind: 'refused',
  status: 429,
  code: 'too_many_enrollments',
  message: `There are ${MAX_OPEN} unused enrolment tokens; each expires after ${JOIN_COMMAND.words}.`,
  retryAfterMs: 60_000,
};

export function createOpenEnrollments(
  kept: readonly StoredEnrollment[],
  { store, clock }: { readonly store: Pick<Store, 'write'>; readonly clock: Clock },
) {
  const open = new Map(kept.map((each) => [each.digest, each]));

  return {
    /** `addresses`: where the other machine reaches this gateway or its pool. */
    async create(addresses: readonly string[]) {
      const nowMs = clock.now();
      for (const { digest, expiresAt } of open.values())
        if (expiresAt <= nowMs) open.delete(digest);
      if (open.size >= MAX_OPEN) return TOO_MANY;
      const token = newSecret();
      const enrollment = { digest: digestOf(token), expiresAt: nowMs + JOIN_COMMAND.ms };
      // Counted at once, so that concurrent requests do not exceed the limit.
      open.set(enrollment.digest, enrollment);
      const written = await store.write([{ kind: 'enrollment', enrollment, nowMs }]);
      if (written.kind === 'unwritten') {
        open.delete(enrollment.digest);
        return unwritten(written.message);
      }
      const expires_at = isoTime(enrollment.expiresAt);
      // The command line to run on the other machine.
      const join = `inglenook join ${addresses.join(',')} ${token}`;
      return answered({ token, expires_at, join }, 201);
    },
    /** Takes a token, so that nobody else can use it; null if it is unknown or expired. */
    take(digest: string): StoredEnrollment | null {
      const enrollment = open.get(digest);
      if (enrollment === undefined || enrollment.expiresAt <= clock.now()) return null;
      open.delete(digest);
      return enrollment;
    },
    /** Returns a token after an enrolment that failed. */
    putBack: (enrollment: StoredEnrollment) => void open.set(enrollment.digest, enrollment),
  };
}

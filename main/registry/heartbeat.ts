import { agentRecordSchema } from '#shared/provider.ts';
import { factsOf, type HeartbeatFacts, isSamePlace, newsOf } from './change-detection.ts';
import {
  eventChange,
  type RegistryContext,
  providerChange,
  statusEvents,
  write,
} from './context.ts';
import type { TableEntry } from './provider-table.ts';
import { verificationView } from './listing.ts';
import { answered, type Refusal } from '../platform/http/routes.ts';
import { type AgentMessage, checkMessage, readBody, unwritten } from './responses.ts';
import { type StoreChange, UNVERIFIED, type WriteResult } from './store/store.ts';

const UNKNOWN_PROVIDER: Refusal = {
  kind: 'refused',
  status: 401,
  code: 'unknown_provider',
  message:
    'This machine is not enrolled here: it was removed, or belongs to another gateway. Join it again with a new join command from its owner.',
};

/** Checks and applies a heartbeat; resolves once it is on disk. */
export async function takeHeartbeat(message: AgentMessage, parts: RegistryContext) {
  const { table, store } = parts;
  const checked = () => checkMessage(message, (keyId) => table.get(keyId)?.key ?? null, parts);
  let check = checked();
  if (check.kind === 'unknown_key' && store.shared !== undefined) {
    // It may just have joined at another gateway.
    await store.shared.refresh(check.keyId);
    check = checked();
    const problem = store.shared.problem();
    if (check.kind === 'unknown_key' && problem !== null) return unwritten(problem);
  }
  // There is no await between checking and using the sequence, or two copies could both pass.
  if (check.kind === 'refused') return check;
  const entry = check.kind === 'unknown_key' ? undefined : table.get(check.keyId);
  if (entry === undefined || check.kind === 'unknown_key') return UNKNOWN_PROVIDER;
  const { sequence } = check;
  if (sequence <= entry.stored.sequence) return sequenceReused(entry.stored.sequence);
  const body = readBody(message.body, agentRecordSchema);
  if (body.kind === 'refused') return body;
  return applyHeartbeat(entry, { record: body.value, sequence, ip: message.ip }, parts);
}

function sequenceReused(last: number): Refusal {
  return {
    kind: 'refused',
    status: 403,
    code: 'sequence_reused',
    message: `The sequence must be above ${last}, the last one accepted.`,
    headers: { 'x-gateway-sequence': String(last) },
  };
}

interface Heartbeat extends HeartbeatFacts {
  readonly sequence: number;
}

/**
 * Applies and saves a heartbeat. It is applied in memory at once, so that a replay is recognised, even if the write
 * then fails, so that the gateway continues routing; in that case it is not acknowledged.
 */
export async function applyHeartbeat(
  entry: TableEntry,
  { record, sequence, ip }: Heartbeat,
  parts: RegistryContext,
) {
  const { table, clock, verifier, heartbeatMs } = parts;
  const { stored } = entry;
  const before = factsOf(stored);
  const hasReturned = table.noteHeartbeat(entry, record) && before !== null;
  const changed = newsOf(before, { record, ip });
  const isMaterial = changed.includes('material');
  const { lastCheckAt, address } = stored.verification;
  // Requests for its current models continue at the address where it was verified.
  const keptAddress = before !== null && isSamePlace(before, { record, ip }) ? address : null;
  const verification = isMaterial
    ? { ...UNVERIFIED, lastCheckAt, address: keptAddress }
    : stored.verification;
  entry.stored = {
    ...stored,
    sequence,
    record,
    lastHeartbeatAt: clock.now(),
    lastHeartbeatIp: ip,
    heartbeatCount: stored.heartbeatCount + 1,
    verification,
  };
  if (isMaterial) entry.materialChanges += 1;
  table.touch(entry);
  const events = statusEvents(entry, parts);
  if (stored.verification.state !== entry.stored.verification.state)
    events.push(eventChange(entry, clock.now(), ['verification', 'pending: it has changed']));
  const written = await writeHeartbeat(entry, isMaterial, events, parts);
  // Another gateway has newer data of the machine.
  if (written.kind === 'refused')
    return written.last === null ? UNKNOWN_PROVIDER : sequenceReused(written.last);
  const news = hasReturned ? [...changed, 'returned' as const] : changed;
  if (news.length > 0) verifier.providerChanged(entry.id, news);
  if (written.kind === 'unwritten') return unwritten(written.message);
  const { status, routable, failure_reason } = verificationView(entry);
  return answered({
    id: entry.id,
    status: table.status(entry) ?? record.status,
    verification: { status, routable, failure_reason },
    heartbeat_ms: heartbeatMs(),
  });
}

/** A change that needs a new verification is written with the next heartbeat if it could not be written. */
async function writeHeartbeat(
  entry: TableEntry,
  isMaterial: boolean,
  events: readonly StoreChange[],
  parts: RegistryContext,
): Promise<WriteResult> {
  // Until it is written, what is read of it is older.
  entry.isChangeUnwritten ||= isMaterial;
  const part = entry.isChangeUnwritten ? 'changed' : 'heartbeat';
  const written = await write([providerChange(entry, part), ...events], parts);
  if (part === 'changed') entry.isChangeUnwritten = written.kind === 'unwritten';
  if (written.kind === 'refused') void parts.store.shared?.refresh(entry.id);
  return written;
}

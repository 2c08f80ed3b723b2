import { type AgentRecord, agentRecordSchema } from '#shared/provider.ts';
import { capped, clamped, isSamePlace, newsOf } from './change-detection.ts';
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
import { type AgentMessage, checkMessage, plainIp, readBody, unwritten } from './responses.ts';
import { type StoreChange, type StoreRefusal, UNVERIFIED } from './store/store.ts';

const UNKNOWN_PROVIDER: Refusal = {
  kind: 'refused',
  status: 401,
  code: 'unknown_provider',
  message:
    'This machine is not enrolled here: it was removed, or belongs to another gateway. Join it again with a new join command from its owner.',
};

/** Checks and applies a heartbeat; resolves once it is on disk. */
export async function takeHeartbeat(message: AgentMessage, parts: RegistryContext) {
  let read = readHeartbeat(message, parts);
  if (read === UNKNOWN_PROVIDER) {
    const unavailable = await parts.sharing.catchUp();
    read = readHeartbeat(message, parts);
    if (read === UNKNOWN_PROVIDER && unavailable !== null) return unavailable;
  }
  // There is no await between checking and using the sequence, or two copies could both pass.
  if ('kind' in read) return read;
  const { entry, record, sequence } = read;
  return applyHeartbeat(entry, { record, sequence, ip: plainIp(message.ip) }, parts);
}

function readHeartbeat(message: AgentMessage, parts: RegistryContext) {
  const { table } = parts;
  const check = checkMessage(message, (keyId) => table.get(keyId)?.key ?? null, parts);
  if (check.kind === 'refused') return check;
  const entry = check.kind === 'unknown_key' ? undefined : table.get(check.keyId);
  if (entry === undefined || check.kind === 'unknown_key') return UNKNOWN_PROVIDER;
  const { sequence } = check;
  if (sequence <= entry.stored.sequence) return sequenceReused(entry.stored.sequence);
  const body = readBody(message.body, agentRecordSchema);
  return body.kind === 'refused' ? body : { entry, record: body.value, sequence };
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

interface Heartbeat {
  readonly record: AgentRecord;
  readonly sequence: number;
  readonly ip: string;
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
  const before =
    stored.record === null ? null : { record: stored.record, ip: stored.lastHeartbeatIp };
  const kept = capped(record);
  const hasReturned = table.noteHeartbeat(entry) && before !== null;
  const changed = newsOf(before, { record: kept, ip });
  const isMaterial = changed.includes('material');
  const { lastCheckAt, address } = stored.verification;
  // Requests for its current models continue at the address where it was verified.
  const keptAddress = before !== null && isSamePlace(before, { record: kept, ip }) ? address : null;
  const verification = isMaterial
    ? { ...UNVERIFIED, lastCheckAt, address: keptAddress }
    : stored.verification;
  entry.stored = {
    ...stored,
    sequence,
    record: kept,
    lastHeartbeatAt: clock.now(),
    lastHeartbeatIp: ip,
    heartbeatCount: stored.heartbeatCount + 1,
    verification,
  };
  entry.shown = clamped(kept);
  entry.hasHadGpu ||= kept.gpu.count > 0;
  if (isMaterial) entry.materialChanges += 1;
  table.touch(entry);
  const changes: StoreChange[] = [
    providerChange(entry, isMaterial ? 'changed' : 'heartbeat'),
    ...statusEvents(entry, parts),
  ];
  if (stored.verification.state !== entry.stored.verification.state) {
    changes.push(eventChange(entry, clock.now(), ['verification', 'pending: it has changed']));
  }
  const written = await write(changes, parts);
  if (written.kind === 'refused') return superseded(written);
  const news = hasReturned ? [...changed, 'returned' as const] : changed;
  if (news.length > 0) verifier.providerChanged(entry.id, news);
  if (written.kind === 'unwritten') return unwritten(written.message);
  const { status, failure_reason } = verificationView(entry);
  return answered({
    id: entry.id,
    status: table.status(entry) ?? record.status,
    verification: { status, failure_reason },
    heartbeat_ms: heartbeatMs(),
    ...parts.sharing.announced(),
  });
}

/** Another gateway has newer data of the machine, which will be read from the database. */
function superseded(written: StoreRefusal): Refusal {
  return written.reason === 'sequence' ? sequenceReused(written.last) : UNKNOWN_PROVIDER;
}

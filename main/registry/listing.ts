import {
  type AgentRecord,
  type Check,
  type LocalProvider,
  type Provider,
  type ProviderList,
  type ProviderTraffic,
  type Verification,
  PROVIDER_STATUSES,
  VERIFICATION_STATES,
  type VerificationState,
} from '#shared/provider.ts';
import { CHECK_MISSING, CHECK_NAMES, failureReason } from '#shared/checks.ts';
import { isoTime } from '../platform/clock.ts';
import {
  isUnlisted,
  type ProviderTable,
  type TableEntry,
  verificationStateOf,
} from './provider-table.ts';
import { HIDDEN_MS, statusAt } from './staleness.ts';
import { z } from 'zod';
import { oneOf, type Query, readQuery, wholeNumber } from '../platform/http/query.ts';
import { type Answer, answered } from '../platform/http/routes.ts';

/** A provider as it is listed; null before its first heartbeat. */
export function providerView(
  entry: TableEntry,
  silentMs: number,
  traffic: ProviderTraffic,
): Provider | null {
  const { stored, shown: record } = entry;
  if (record === null) return null;
  const { uptime_s: _, ...reported } = record;
  const raw = stored.record ?? record;
  return {
    ...reported,
    ...traffic,
    ...excerptOf(entry, record),
    status: statusAt(record.status, silentMs),
    trust_level: stored.verification.state === 'verified' ? 'software' : 'none',
    attested: false,
    last_heartbeat_ip: stored.lastHeartbeatIp,
    heartbeat_count: stored.heartbeatCount,
    raw: { id: entry.id, ...raw, agent_url: withoutUserinfo(raw.agent_url) },
  };
}

export function verificationView(entry: TableEntry): Verification {
  const { checks, lastCheckAt, state, address } = entry.stored.verification;
  return {
    status: verificationStateOf(entry),
    routable: state !== 'failed' && address !== null,
    // Every check is listed, also before the first run.
    checks: [...(checks.length === 0 ? NOT_RUN : checks)],
    last_check: lastCheckAt === null ? null : isoTime(lastCheckAt),
    last_heartbeat: lastHeartbeatOf(entry),
    heartbeat_count: entry.stored.heartbeatCount,
    failure_reason: failureReason(checks),
  };
}

const NOT_RUN: readonly Check[] = CHECK_NAMES.map((name) => ({
  name,
  passed: false,
  error: CHECK_MISSING,
}));

/** The part of a provider that the status report shows. */
export function excerptOf(entry: TableEntry, record: AgentRecord): LocalProvider {
  return {
    id: entry.id,
    verification: verificationView(entry),
    // Agents send an empty string for "none"; readers get null.
    tailnet_ip: record.tailnet_ip === '' ? null : record.tailnet_ip,
    agent_url: withoutUserinfo(record.agent_url),
    last_heartbeat: lastHeartbeatOf(entry),
    engine_model: record.engine_model,
    engine_health: record.engine_health,
  };
}

/** A password in an address is not meant for every reader of the list. */
function withoutUserinfo(address: string): string {
  if (!address.includes('@')) return address;
  const url = URL.parse(address);
  // Without two slashes, a name and its password parse as a scheme and a path.
  if (url === null || url.host === '') return address.slice(address.lastIndexOf('@') + 1);
  if (url.username === '' && url.password === '') return address;
  url.username = '';
  url.password = '';
  return url.href;
}

function lastHeartbeatOf({ stored }: TableEntry): string {
  return isoTime(stored.lastHeartbeatAt ?? stored.enrolledAt);
}

/** Number of providers by verification state; the states add up to `count`. */
export type Counts = Readonly<Record<VerificationState | 'count', number>>;

export function createListing(table: ProviderTable, traffic: (id: string) => ProviderTraffic) {
  function select(query: ListQuery): { readonly counts: Counts; readonly data: Provider[] } {
    const counts = { count: 0, verified: 0, pending: 0, verifying: 0, failed: 0 };
    const data: Provider[] = [];
    table.survey((entry, silentMs) => {
      const { shown: record } = entry;
      if (record === null || isUnlisted(entry)) return;
      const status = statusAt(record.status, silentMs);
      const state = verificationStateOf(entry);
      if (query.status !== undefined && query.status !== status) return;
      if (query.verification !== undefined && query.verification !== state) return;
      // A filter by status shows all matches, however long they have been silent.
      if (query.status === undefined && silentMs >= HIDDEN_MS) return;
      const isOnPage = counts.count >= query.offset && data.length < query.limit;
      const view = isOnPage ? providerView(entry, silentMs, traffic(entry.id)) : null;
      if (view !== null) data.push(view);
      counts.count += 1;
      counts[state] += 1;
    });
    return { counts, data };
  }

  return {
    list(query: Query): Answer<ProviderList> {
      const wanted = readQuery(query, listSchema);
      if (wanted.kind === 'refused') return wanted;
      const { counts, data } = select(wanted.value);
      return answered({ object: 'list', data, ...counts });
    },
    counts: (): Counts => select(ONLY_COUNTS).counts,
    ids(limit: number): readonly string[] {
      const ids: string[] = [];
      table.survey((entry, silentMs) => {
        const isListed = entry.shown !== null && !isUnlisted(entry) && silentMs < HIDDEN_MS;
        if (ids.length < limit && isListed) ids.push(entry.id);
      });
      return ids;
    },
  };
}

const ONLY_COUNTS: ListQuery = { limit: 0, offset: 0 };

const MAX_LIMIT = 10_000;
const MAX_OFFSET = 1_000_000_000;

const listSchema = z.object({
  status: oneOf(PROVIDER_STATUSES).optional(),
  verification: oneOf(VERIFICATION_STATES).optional(),
  limit: wholeNumber(1, MAX_LIMIT).default(Infinity),
  offset: wholeNumber(0, MAX_OFFSET).default(0),
});
/** What is left out may have any value. */
type ListQuery = z.infer<typeof listSchema>;

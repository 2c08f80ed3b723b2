import { hash } from 'node:crypto';
import {
  type AgentRecord,
  PROVIDER_STATUSES,
  type ProviderStatus,
  VERIFICATION_STATES,
  type VerificationState,
} from '#shared/provider.ts';
import { newSecret } from '../platform/secrets.ts';
import { isHidden, statusAt } from './liveness.ts';
import {
  isUnlisted,
  type ProviderTable,
  type TableEntry,
  verificationStateOf,
} from './provider-table.ts';
import { providerView, type Traffic } from './provider-view.ts';
import { invalidRequest, type Refusal, type PiecesAnswer } from '../platform/http/routes.ts';

/** Number of providers by verification state; the states add up to `count`. */
export type Counts = Readonly<Record<VerificationState | 'count', number>>;

/** A provider's serialised form, kept because most are the same in the next list. */
interface Piece {
  /** Revision of the registry at the provider's last change. */
  readonly version: number;
  readonly status: ProviderStatus;
  readonly traffic: Traffic;
  /** Begins with a comma. */
  readonly json: string;
  /** Unique among the pieces of this run. */
  readonly stamp: number;
}

export function createListing(table: ProviderTable, traffic: (id: string) => Traffic) {
  const pieces = new Map<string, Piece>();
  // Stamps restart with each run.
  const run = newSecret().slice(0, 12);
  let stamps = 0;

  function pieceOf(entry: TableEntry, record: AgentRecord, status: ProviderStatus): Piece {
    const { id, version } = entry;
    const seen = { ...traffic(id) };
    const last = pieces.get(id);
    const isLast = last?.version === version && last.status === status;
    if (isLast && sameTraffic(last.traffic, seen)) return last;
    stamps += 1;
    const view = providerView({ entry, record, status, traffic: seen });
    const json = `,${JSON.stringify(view)}`;
    const piece = { version, status, traffic: seen, json, stamp: stamps };
    pieces.set(id, piece);
    return piece;
  }

  function select(query: ListQuery): { readonly counts: Counts; readonly page: readonly Piece[] } {
    const counts = { count: 0, verified: 0, pending: 0, verifying: 0, failed: 0 };
    const page: Piece[] = [];
    table.survey((entry, silentMs) => {
      const { shown: record } = entry;
      if (record === null || isUnlisted(entry)) return;
      const status = statusAt(record.status, silentMs);
      const state = verificationStateOf(entry);
      if (query.status !== null && query.status !== status) return;
      if (query.verification !== null && query.verification !== state) return;
      // A filter by status shows all matches, however long they have been silent.
      if (query.status === null && isHidden(silentMs)) return;
      const isOnPage = counts.count >= query.offset && page.length < query.limit;
      if (isOnPage) page.push(pieceOf(entry, record, status));
      counts.count += 1;
      counts[state] += 1;
    });
    return { counts, page };
  }

  return {
    list(raw: RawQuery): PiecesAnswer | Refusal {
      const query = readListQuery(raw);
      if (query.kind === 'refused') return query;
      const { counts, page } = select(query);
      const state = JSON.stringify([run, counts, page.map(({ stamp }) => stamp)]);
      return {
        kind: 'pieces',
        etag: `"${hash('sha256', state, 'base64url').slice(0, 27)}"`,
        // Ten thousand providers take about 25 MB, too much for one string.
        json: () => listJson(page, counts),
      };
    },
    /** Over all providers of the default list. */
    counts: (): Counts => select(ONLY_COUNTS).counts,
    /** The first ids of the default list. */
    ids(limit: number): readonly string[] {
      const ids: string[] = [];
      table.survey((entry, silentMs) => {
        const isListed = entry.shown !== null && !isUnlisted(entry) && !isHidden(silentMs);
        if (ids.length < limit && isListed) ids.push(entry.id);
      });
      return ids;
    },
    /** Builds a provider's piece of the next list now, because building thousands at once would block the event loop. */
    renew(id: string): void {
      const entry = table.get(id);
      const record = entry?.shown ?? null;
      if (entry === undefined || record === null) return;
      pieceOf(entry, record, statusAt(record.status, table.silentMs(entry)));
    },
    /** Drops the serialised form of a removed provider. */
    forget: (id: string) => void pieces.delete(id),
  };
}

function listJson(page: readonly Piece[], counts: Counts): readonly string[] {
  return [
    '{"object":"list","data":[',
    ...page.map(({ json }, index) => (index === 0 ? json.slice(1) : json)),
    `],${JSON.stringify(counts).slice(1)}`,
  ];
}

const ONLY_COUNTS: ListQuery = {
  kind: 'query',
  status: null,
  verification: null,
  limit: 0,
  offset: 0,
};

function sameTraffic(a: Traffic, b: Traffic): boolean {
  return (
    a.ewmaTtft === b.ewmaTtft &&
    a.ewmaLatency === b.ewmaLatency &&
    a.concurrentRequests === b.concurrentRequests &&
    a.totalRequests === b.totalRequests &&
    a.successCount === b.successCount
  );
}

/** Null: any value. */
interface ListQuery {
  readonly kind: 'query';
  readonly status: ProviderStatus | null;
  readonly verification: VerificationState | null;
  readonly limit: number;
  readonly offset: number;
}

/** Query parameters as parsed from the URL: a string, or several if one was repeated. */
export type RawQuery = Readonly<Record<string, unknown>>;

const MAX_LIMIT = 10_000;
const MAX_OFFSET = 1_000_000_000;

/** A refusal names the first bad parameter. */
function readListQuery(raw: RawQuery): ListQuery | Refusal {
  const status = oneOf(PROVIDER_STATUSES, 'status', raw);
  if (isRefusal(status)) return status;
  const verification = oneOf(VERIFICATION_STATES, 'verification', raw);
  if (isRefusal(verification)) return verification;
  const limit = integer('limit', raw, { min: 1, max: MAX_LIMIT });
  if (isRefusal(limit)) return limit;
  const offset = integer('offset', raw, { min: 0, max: MAX_OFFSET });
  if (isRefusal(offset)) return offset;
  return { kind: 'query', status, verification, limit: limit ?? Infinity, offset: offset ?? 0 };
}

export function readHistoryLimit(raw: RawQuery): number | Refusal {
  return integer('limit', raw, { min: 1, max: 1000 }) ?? 100;
}

function isRefusal(value: unknown): value is Refusal {
  return typeof value === 'object' && value !== null;
}

function oneOf<T extends string>(
  allowed: readonly T[],
  name: string,
  raw: RawQuery,
): T | null | Refusal {
  const value = raw[name];
  if (value === undefined) return null;
  const known = allowed.find((each) => each === value);
  return known ?? invalidRequest(`${name} must be one of ${allowed.join(', ')}, once.`, name);
}

function integer(
  name: string,
  raw: RawQuery,
  { min, max }: { readonly min: number; readonly max: number },
): number | null | Refusal {
  const value = raw[name];
  if (value === undefined) return null;
  const number = typeof value === 'string' && /^\d{1,10}$/.test(value) ? Number(value) : NaN;
  if (number >= min && number <= max) return number;
  return invalidRequest(`${name} must be a whole number from ${min} to ${max}, once.`, name);
}

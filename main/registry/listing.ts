import { hash } from 'node:crypto';
import type { AgentRecord, ProviderStatus, VerificationState } from '#shared/provider.ts';
import { newSecret } from '../platform/secret-text.ts';
import type { Refusal } from './answers.ts';
import { verificationStateOf, type Entry } from './entry.ts';
import { readListQuery, type ListQuery, type RawQuery } from './list-query.ts';
import { isHidden, statusAt } from './liveness.ts';
import { providerView, type Traffic } from './provider-view.ts';
import type { Roster } from './roster.ts';

/** How many providers there are, by state of verification; the states sum up to `count`. */
export type Counts = Readonly<Record<VerificationState | 'count', number>>;

/** The list of providers (interface 2.1). */
export interface Listed {
  readonly kind: 'listed';
  /** Another one whenever the body is another one. */
  readonly etag: string;
  /** The body, in pieces: of ten thousand providers it is some 25 MB, which nobody wants in one. */
  json(): readonly string[];
}

/** Lists the providers, and counts them. */
export interface Listing {
  list(raw: RawQuery): Listed | Refusal;
  /** Over everybody that the default list shows. */
  counts(): Counts;
  /** Makes a provider's part of the next list now: thousands at once would hold up everything else. */
  renew(id: string): void;
  /** No longer needed of a provider that is gone. */
  forget(id: string): void;
}

/** A provider as it stood in the last list that showed it: most are the same in the next. */
interface Piece {
  /** Revision of the registry when it last changed. */
  readonly version: number;
  readonly status: ProviderStatus;
  readonly traffic: Traffic;
  /** With a comma in front. */
  readonly json: string;
  /** Tells this piece from every other one of this run. */
  readonly stamp: number;
}

/** Makes the listing of a roster. */
export function createListing(roster: Roster, traffic: (id: string) => Traffic): Listing {
  const pieces = new Map<string, Piece>();
  // Stamps begin anew with each run.
  const run = newSecret().slice(0, 12);
  let stamps = 0;

  function pieceOf(entry: Entry, record: AgentRecord, status: ProviderStatus): Piece {
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
    roster.survey((entry, silentMs) => {
      const { shown: record } = entry;
      if (record === null) return;
      const status = statusAt(record.status, silentMs);
      const state = verificationStateOf(entry);
      if (query.status !== null && query.status !== status) return;
      if (query.verification !== null && query.verification !== state) return;
      // Who asks for the machines that are off gets all of them.
      if (query.status === null && isHidden(silentMs)) return;
      const isOnPage = counts.count >= query.offset && page.length < query.limit;
      if (isOnPage) page.push(pieceOf(entry, record, status));
      counts.count += 1;
      counts[state] += 1;
    });
    return { counts, page };
  }

  return {
    list(raw) {
      const query = readListQuery(raw);
      if (query.kind === 'refused') return query;
      const { counts, page } = select(query);
      const state = JSON.stringify([run, counts, page.map(({ stamp }) => stamp)]);
      return {
        kind: 'listed',
        etag: `"${hash('sha256', state, 'base64url').slice(0, 27)}"`,
        json: () => listJson(page, counts),
      };
    },
    counts: () => select(ONLY_COUNTS).counts,
    renew(id) {
      const entry = roster.get(id);
      const record = entry?.shown ?? null;
      if (entry === undefined || record === null) return;
      pieceOf(entry, record, statusAt(record.status, roster.silentMs(entry)));
    },
    forget: (id) => void pieces.delete(id),
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

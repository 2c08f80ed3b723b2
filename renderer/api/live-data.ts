import type { OutcomeCounts } from '#shared/live.ts';
import type {
  LiveDelta,
  LiveEvent,
  LiveSnapshot,
  ProvidersSummary,
  RequestRow,
} from '#shared/live.ts';

/** The last known state, with the times needed to carry its clocks forward. */
export interface LiveData {
  readonly status: LiveSnapshot['status'];
  readonly inFlight: LiveSnapshot['inFlight'];
  readonly sightings: LiveSnapshot['sightings'];
  /** Newest first. */
  readonly requests: readonly RequestRow[];
  readonly app: LiveSnapshot['app'];
  /** Null if the gateway does not send it. */
  readonly providers: ProvidersSummary | null;
  readonly outcomes: OutcomeCounts | null;
  /** Page time at which the last event arrived. */
  readonly receivedAt: number;
  /** Page time at which `status` arrived: its countdowns run from here. */
  readonly statusAt: number;
  /** Milliseconds to add to page time to get the gateway's, which may be on another machine. */
  readonly skewMs: number;
}

/** Applies one event; a delta before the first snapshot is dropped. */
export function applyEvent(data: LiveData | null, event: LiveEvent, now: number): LiveData | null {
  if (event.kind === 'snapshot') return fromSnapshot(event, now);
  return data && applyDelta(data, event, now);
}

function fromSnapshot(snapshot: LiveSnapshot, now: number): LiveData {
  const {
    status,
    inFlight,
    sightings,
    requests,
    app,
    providers = null,
    outcomes = null,
  } = snapshot;
  const skewMs = Date.parse(status.timestamp) - now;
  return {
    status,
    inFlight,
    sightings,
    requests,
    app,
    providers,
    outcomes,
    receivedAt: now,
    statusAt: now,
    skewMs,
  };
}

function applyDelta(data: LiveData, delta: LiveDelta, now: number): LiveData {
  return {
    ...data,
    status: delta.status ?? data.status,
    inFlight: delta.inFlight ?? data.inFlight,
    sightings: delta.sightings ?? data.sightings,
    app: delta.app ?? data.app,
    providers: delta.providers ?? data.providers,
    outcomes: delta.outcomes ?? data.outcomes,
    requests: mergeRows(data.requests, delta.upsert, delta.remove),
    receivedAt: now,
    statusAt: delta.status ? now : data.statusAt,
  };
}

function mergeRows(
  rows: readonly RequestRow[],
  upsert: readonly RequestRow[],
  remove: readonly string[],
): readonly RequestRow[] {
  if (upsert.length === 0 && remove.length === 0) return rows;
  const gone = new Set(remove);
  const changed = new Map(upsert.map((row) => [row.id, row]));
  const merged: RequestRow[] = [];
  for (const row of rows) {
    if (!gone.has(row.id)) merged.push(changed.get(row.id) ?? row);
    changed.delete(row.id);
  }
  for (const row of changed.values()) {
    if (!gone.has(row.id)) merged.splice(placeFor(row, merged), 0, row);
  }
  return merged;
}

/** Existing rows keep their order; a new one goes above everything that is not newer. */
function placeFor(row: RequestRow, rows: readonly RequestRow[]): number {
  const place = rows.findIndex((other) => other.startedAt <= row.startedAt);
  return place < 0 ? rows.length : place;
}

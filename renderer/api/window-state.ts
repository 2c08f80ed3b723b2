import { assertNever } from '#shared/assert.ts';
import type { LiveDelta, LiveEvent, LiveSnapshot, RequestRow } from '#shared/live.ts';
import type { SettingsView } from '#shared/settings-view.ts';

type Connection =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  | { readonly kind: 'lost'; readonly since: number }
  | { readonly kind: 'locked' };

/** Only a control session can read settings. */
export type SettingsState =
  | { readonly kind: 'unread' }
  | { readonly kind: 'unreadable'; readonly message: string }
  | { readonly kind: 'read'; readonly view: SettingsView };

export interface WindowState {
  readonly connection: Connection;
  readonly control: boolean;
  /** Why a link with a code did not give control. */
  readonly notice: string | null;
  readonly data: LiveData | null;
  readonly settings: SettingsState;
}

export type WindowAction =
  | { readonly kind: 'event'; readonly event: LiveEvent; readonly now: number }
  | { readonly kind: 'lost'; readonly now: number }
  | { readonly kind: 'locked' }
  | { readonly kind: 'settings'; readonly settings: SettingsState }
  | { readonly kind: 'session'; readonly control: boolean; readonly notice?: string | null };

export const INITIAL_STATE: WindowState = {
  connection: { kind: 'connecting' },
  control: false,
  notice: null,
  data: null,
  settings: { kind: 'unread' },
};

export function reduceWindow(state: WindowState, action: WindowAction): WindowState {
  switch (action.kind) {
    case 'event':
      return {
        ...state,
        connection: state.connection.kind === 'live' ? state.connection : { kind: 'live' },
        data: applyEvent(state.data, action.event, action.now),
      };
    case 'lost':
      // Keeps the time of the first loss: failed retries do not make the data newer.
      return state.connection.kind === 'lost'
        ? state
        : { ...state, connection: { kind: 'lost', since: action.now } };
    case 'locked':
      return { ...state, connection: { kind: 'locked' } };
    case 'settings':
      // Settings that were read are more useful than an error about reading them again.
      return action.settings.kind !== 'read' && state.settings.kind === 'read'
        ? state
        : { ...state, settings: action.settings };
    case 'session':
      return {
        ...state,
        control: action.control,
        notice: action.notice === undefined ? state.notice : action.notice,
      };
    default:
      return assertNever(action, 'action');
  }
}

/** The last known state, with the times needed to carry its clocks forward. */
export interface LiveData extends Omit<LiveSnapshot, 'kind'> {
  /** Page time at which the last event arrived. */
  readonly receivedAt: number;
  /** Page time at which `status` arrived: its countdowns run from here. */
  readonly statusAt: number;
  /** Milliseconds to add to page time to get the gateway's, which may be on another machine. */
  readonly skewMs: number;
}

/** A delta before the first snapshot is dropped. */
export function applyEvent(data: LiveData | null, event: LiveEvent, now: number): LiveData | null {
  if (event.kind === 'snapshot') return fromSnapshot(event, now);
  return data && applyDelta(data, event, now);
}

function fromSnapshot(event: LiveSnapshot, now: number): LiveData {
  const { kind: _, ...snapshot } = event;
  return {
    ...snapshot,
    receivedAt: now,
    statusAt: now,
    skewMs: Date.parse(snapshot.status.timestamp) - now,
  };
}

function applyDelta(data: LiveData, delta: LiveDelta, now: number): LiveData {
  const { kind: _, upsert, remove, ...changed } = delta;
  return {
    ...data,
    ...changed,
    requests: mergeRows(data.requests, upsert, remove),
    receivedAt: now,
    statusAt: changed.status ? now : data.statusAt,
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

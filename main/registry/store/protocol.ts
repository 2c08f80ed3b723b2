import type { UnusableReason } from './errors.ts';
import type { Change, StoredEvent, StoredState, WriteResult } from './store.ts';

/*
 * What the registry's thread and the thread of the database say to each other. Messages keep their
 * order, so a read sees every write that was sent before it and a close comes after all of them.
 */

/** What the thread of the database is started with. */
export interface StoreWorkerData {
  readonly path: string;
  /** Wall-clock ms: names a file that is set aside, and tells which enrolments have expired. */
  readonly nowMs: number;
}

export interface WriteRequest {
  readonly kind: 'write';
  readonly id: number;
  readonly changes: readonly Change[];
}

export interface EventsRequest {
  readonly kind: 'events';
  readonly id: number;
  readonly providerId: string;
  readonly limit: number;
}

export type StoreRequest = WriteRequest | EventsRequest | { readonly kind: 'close' };

/** The outcome of one write; the writes of one transaction are told together. */
export interface SettledWrite {
  readonly id: number;
  readonly result: WriteResult;
}

/** What of a table could not be read. */
export interface Unreadable {
  readonly table: 'providers' | 'enrollments' | 'documents';
  /** `row`: it is left out. `record`, `verification`: the rest of the row is kept. */
  readonly part: 'row' | 'record' | 'verification';
  readonly rows: number;
  /** The first of them, and what is wrong with it; never what it holds. */
  readonly first: string;
  readonly problem: string;
}

/** How opening went. */
export type Opening =
  | {
      readonly kind: 'open';
      readonly state: StoredState;
      readonly unreadable: readonly Unreadable[];
      /** For people; null when the file was as it should be. */
      readonly warning: string | null;
    }
  | { readonly kind: 'unusable'; readonly reason: UnusableReason; readonly message: string };

export type StoreReply =
  | { readonly kind: 'opening'; readonly opening: Opening }
  | { readonly kind: 'settled'; readonly writes: readonly SettledWrite[] }
  | {
      readonly kind: 'events';
      readonly id: number;
      readonly events: readonly StoredEvent[];
      /** Why there are none; null when they could be read. */
      readonly problem: string | null;
    };

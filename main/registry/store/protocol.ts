import type { UnusableReason } from './errors.ts';
import type { StoreChange, StoredEvent, StoredState, WriteResult } from './store.ts';

/*
 * Messages between the registry's thread and the database thread. They are processed in order, so a read sees every
 * earlier write, and a close comes after all of them.
 */

export interface StoreWorkerData {
  readonly path: string;
  /** Wall-clock ms: for the name of a damaged file, and to find expired enrolments. */
  readonly nowMs: number;
}

export interface WriteRequest {
  readonly id: number;
  readonly changes: readonly StoreChange[];
}

export interface EventsRequest {
  readonly kind: 'events';
  readonly id: number;
  readonly providerId: string;
  readonly limit: number;
}

export type StoreRequest =
  | { readonly kind: 'writes'; readonly writes: readonly WriteRequest[] }
  | EventsRequest
  | { readonly kind: 'close' };

/** The result of one write; those of a transaction are answered together. */
export interface SettledWrite {
  readonly id: number;
  readonly result: WriteResult;
}

/** Parts of a table that could not be read. */
export interface Unreadable {
  readonly table: 'providers' | 'enrollments' | 'documents';
  /** `row`: the row is skipped. `record`, `verification`: the rest of the row is kept. */
  readonly part: 'row' | 'record' | 'verification';
  readonly rows: number;
  /** Id of the first such row; never its content. */
  readonly first: string;
  readonly problem: string;
}

export type StoreOpening =
  | {
      readonly kind: 'open';
      readonly state: StoredState;
      readonly unreadable: readonly Unreadable[];
      /** Human-readable; null if the file was intact. */
      readonly warning: string | null;
    }
  | { readonly kind: 'unusable'; readonly reason: UnusableReason; readonly message: string };

export type StoreReply =
  | { readonly kind: 'opening'; readonly opening: StoreOpening }
  | { readonly kind: 'settled'; readonly writes: readonly SettledWrite[] }
  | {
      readonly kind: 'events';
      readonly id: number;
      readonly events: readonly StoredEvent[];
      /** Why there are no events; null if they could be read. */
      readonly problem: string | null;
    };

import type { UpstreamId } from '#shared/ids.ts';

/** How a setting is entered and sent. */
export type FieldKind =
  | 'address'
  | 'text'
  | 'secret'
  | 'secrets'
  | 'headers'
  | 'milliseconds'
  | 'count'
  | 'percent'
  | 'celsius'
  | 'ports'
  | 'flag'
  | 'choice';

/** One of the values that a setting may have. */
export interface Choice {
  readonly value: string;
  readonly label: string;
  /** What comes of it. */
  readonly hint: string;
}

/** One setting that the window edits. */
export interface Field {
  readonly section: string;
  readonly key: string;
  /** As the gateway names it in errors, `hosted_a.baseUrl`. */
  readonly path: string;
  readonly kind: FieldKind;
  readonly label: string;
  readonly hint: string;
  /** The variable that may hold it. */
  readonly env: string;
  /** What it is when nobody says; null stands for nothing at all. */
  readonly fallback: string | number | boolean | readonly number[] | null;
  /** All that a `choice` may be; of the other kinds none. */
  readonly choices?: readonly Choice[];
}

/** Settings that are saved together. */
export interface Section {
  readonly id: string;
  readonly upstream: UpstreamId | null;
  readonly fields: readonly Field[];
}

/** A setting as it stands in its section. */
export type Row = Omit<Field, 'section' | 'path'>;

import { parseJson } from '../../platform/json.ts';
import {
  type StoredEvent,
  storedEventSchema,
  type StoredProvider,
  storedProviderSchema,
} from './store.ts';

/* Rows of tables: a column for each field, some of them JSON. A file is untrusted input. */

const FIELDS = Object.keys(storedProviderSchema.unwrap().shape) as (keyof StoredProvider)[];
const JSON_FIELDS: readonly (keyof StoredProvider)[] = ['record', 'verification', 'note'];

/** The column `enrolled_at` of the field `enrolledAt`. */
const columnOf = (field: string) =>
  field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

export const PROVIDER_COLUMNS = FIELDS.map(columnOf);

export type Row = Readonly<Record<string, unknown>>;

/** The row of a provider; its keys are the column names. */
export function providerRow(provider: StoredProvider): Row {
  const cells = FIELDS.map((field) => {
    const value = provider[field];
    const isJson = value !== null && JSON_FIELDS.includes(field);
    return [columnOf(field), isJson ? JSON.stringify(value) : value];
  });
  return Object.fromEntries(cells) as Row;
}

/** Null if the row cannot be read. */
export function providerOf(row: Row): StoredProvider | null {
  const values = FIELDS.map((field) => {
    const cell = row[columnOf(field)];
    const isJson = typeof cell === 'string' && JSON_FIELDS.includes(field);
    return [field, isJson ? parseJson(cell) : cell];
  });
  const { data } = storedProviderSchema.safeParse(Object.fromEntries(values));
  if (data === undefined) return null;
  return data.record === null ? { ...data, lastHeartbeatAt: null } : data;
}

/** The events in rows of `events`, without those that cannot be read. */
export function eventsIn(rows: readonly unknown[]): readonly StoredEvent[] {
  return rows.flatMap((row) => storedEventSchema.safeParse(row).data ?? []);
}

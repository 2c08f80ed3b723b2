import type { Field, Section } from './settings-table.ts';

/** What almost everybody sets of an upstream, in this order. */
const ESSENTIALS = ['label', 'baseUrl', 'apiKey', 'model', 'priceInput', 'priceOutput'];

const GROUPS = {
  connection: ['models', 'headers', 'timeoutMs'],
  price: ['priceCached', 'budgetDay', 'budgetMonth'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type FieldGroupName = keyof typeof GROUPS | 'advanced';

interface FieldGroup {
  readonly name: FieldGroupName;
  readonly fields: readonly Field[];
}

interface ArrangedFields {
  readonly essential: readonly Field[];
  /** Groups with at least one field. */
  readonly more: readonly FieldGroup[];
}

/** The fields of a section, of an upstream with the essentials first; other sections show all of theirs. */
export function arrangedFields({ upstream, fields }: Section): ArrangedFields {
  if (upstream === null) return { essential: fields, more: [] };
  const named = (keys: readonly string[]) =>
    keys.flatMap((key) => fields.find((field) => field.key === key) ?? []);
  const placed = new Set([...ESSENTIALS, ...Object.values(GROUPS).flat()]);
  const groups: readonly FieldGroup[] = [
    { name: 'connection', fields: named(GROUPS.connection) },
    { name: 'price', fields: named(GROUPS.price) },
    { name: 'advanced', fields: fields.filter(({ key }) => !placed.has(key)) },
  ];
  return {
    essential: named(ESSENTIALS),
    more: groups.filter((group) => group.fields.length > 0),
  };
}

/** The fields that match what was searched for; all of them if the section's title does. */
export function matchingFields(
  { fields, id }: Section,
  title: string,
  query: string,
): readonly Field[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (text: string) => words.every((word) => text.toLowerCase().includes(word));
  if (has(title)) return fields;
  return fields.filter(({ label, meaning, env, path }) =>
    has([title, label, meaning, env, path, id].join(' ')),
  );
}

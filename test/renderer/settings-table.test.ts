import { describe, expect, test } from 'vitest';
import { UPSTREAM_IDS } from '#shared/ids.ts';
import { ENTRIES } from '../../main/config/settings.ts';
import { fieldAt, SECTIONS } from '../../renderer/model/settings-table.ts';

const entries = new Map(ENTRIES.map((entry) => [entry.path, entry]));
const fields = SECTIONS.flatMap((section) => section.fields);
const SENT_AS = {
  address: 'http://127.0.0.1:1/v1',
  text: 'some text',
  secret: 'some-secret',
  headers: { 'X-Team': 'blue' },
  milliseconds: 1_500,
  count: 3,
  flag: true,
} as const;

describe('the table of settings agrees with the gateway', () => {
  test.each(fields)('$path', (field) => {
    const setting = entries.get(field.path)?.setting;
    expect(`SWITCHYARD_${setting?.env}`).toBe(field.env);
    expect(setting?.kind.schema.safeParse(SENT_AS[field.kind]).success).toBe(true);
    expect(setting?.secret).toBe(field.kind === 'secret' || field.kind === 'headers');
    // No headers at all are an empty object there and nothing here.
    expect(field.kind === 'headers' ? {} : field.fallback).toEqual(setting?.fallback);
  });

  test.each([...UPSTREAM_IDS, 'circuit'])('nothing of %s is left out', (id) => {
    const known = ENTRIES.filter(({ section }) => section === id).map(({ path }) => path);
    const shown = fields.filter(({ section }) => section === id).map(({ path }) => path);
    expect(shown.toSorted()).toEqual(known.toSorted());
  });

  test('every setting has a name of its own within its section', () => {
    for (const section of SECTIONS) {
      const labels = section.fields.map(({ label }) => label);
      expect(new Set(labels).size).toBe(labels.length);
    }
  });

  test('a field is found by its path, and only by one there is', () => {
    for (const field of fields) expect(fieldAt(field.path)).toBe(field);
    expect(() => fieldAt('routing.nothing')).toThrow('routing.nothing');
  });
});

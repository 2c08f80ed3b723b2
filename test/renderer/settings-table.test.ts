import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { UPSTREAM_IDS } from '#shared/ids.ts';
import { ENTRIES } from '../../main/config/schema.ts';
import type { Field } from '../../renderer/features/settings/field.ts';
import { fieldAt, SECTIONS } from '../../renderer/features/settings/settings-table.ts';

const entries = new Map(ENTRIES.map((entry) => [entry.path, entry]));
const fields = SECTIONS.flatMap((section) => section.fields);
const SENT_AS = {
  address: 'http://127.0.0.1:1/v1',
  text: 'some text',
  secret: 'some-secret',
  secrets: ['a-secret-of-some-length'],
  headers: { 'X-Team': 'blue' },
  milliseconds: 1_500,
  count: 3,
  percent: 5,
  celsius: 80,
  ports: [3001, 0],
  flag: true,
} as const;

/** What may be sent of a field: all of its choices, else an example. */
function sentAs({ kind, choices = [] }: Field): readonly unknown[] {
  return kind === 'choice' ? choices.map(({ value }) => value) : [SENT_AS[kind]];
}

const NONE: Readonly<Record<string, unknown>> = { headers: {}, secrets: [] };

describe('the table of settings agrees with the gateway', () => {
  test.each(fields)('$path', (field) => {
    const setting = entries.get(field.path)?.setting;
    expect(`SWITCHYARD_${setting?.env}`).toBe(field.env);
    for (const sent of sentAs(field)) {
      expect(setting?.kind.schema.safeParse(sent).success).toBe(true);
    }
    expect(setting?.secret).toBe(['secret', 'secrets', 'headers'].includes(field.kind));
    // None at all are an empty object or list there and nothing here.
    expect(NONE[field.kind] ?? field.fallback).toEqual(setting?.fallback);
  });

  test.each([...UPSTREAM_IDS, 'circuit', 'routing'])('nothing of %s is left out', (id) => {
    const known = ENTRIES.filter(({ section }) => section === id).map(({ path }) => path);
    const shown = fields.filter(({ section }) => section === id).map(({ path }) => path);
    expect(shown.toSorted()).toEqual(known.toSorted());
  });

  test('a choice offers all that there is to choose, says what comes of each, and begins at the default', () => {
    for (const { path, kind, choices = [], fallback } of fields) {
      const { schema } = entries.get(path)?.setting.kind ?? {};
      const allowed = schema instanceof z.ZodEnum ? schema.options : [];
      const offered = choices.map(({ value }) => value);
      expect(new Set(offered)).toEqual(new Set(kind === 'choice' ? allowed : []));
      if (kind !== 'choice') continue;
      expect(choices.filter(({ value }) => value === fallback)).toHaveLength(1);
      expect(new Set(choices.map(({ label }) => label)).size).toBe(choices.length);
      for (const { hint } of choices) expect(hint).toMatch(/\.$/);
    }
  });

  test('wherever a prompt or an answer may be paid twice, the choice says so', () => {
    const hintAt = (path: string, value: string) =>
      fieldAt(path).choices?.find((choice) => choice.value === value)?.hint;
    for (const value of ['own', 'all']) expect(hintAt('routing.hedge', value)).toMatch(/paid/);
    for (const value of ['same-model', 'any']) {
      expect(hintAt('routing.resume', value)).toMatch(/paid there once more/);
    }
    for (const path of ['routing.hedge', 'routing.resume']) {
      expect(hintAt(path, 'off')).not.toMatch(/paid/);
    }
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

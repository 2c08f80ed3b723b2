import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SettingView } from '#shared/settings.ts';
import {
  isDirty,
  isHidden,
  isOn,
  patchOf,
  textOf,
  waitsForRestart,
  wishOf,
  withDraft,
  withoutSection,
  type Drafts,
} from '../../renderer/features/settings/draft.ts';
import {
  hintOf,
  placeholderOf,
  sourceWords,
  unitOf,
} from '../../renderer/features/settings/setting-text.ts';
import { fieldAt, SECTIONS } from '../../renderer/features/settings/settings-table.ts';

const fields = SECTIONS.flatMap((section) => section.fields);
const anyField = fc.constantFrom(...fields);
const label = fieldAt('hosted_a.label');
const timeout = fieldAt('hosted_a.timeoutMs');
const key = fieldAt('hosted_a.apiKey');
const address = fieldAt('hosted_a.baseUrl');

function saved(value: unknown, source: SettingView['source'] = 'file'): SettingView {
  return { value, source };
}

describe('a draft', () => {
  test('that is what is saved anyway is none', () => {
    expect(withDraft({}, label, saved('Groq'), 'Groq')).toEqual({});
    expect(withDraft({}, fieldAt('ondemand.warmup'), saved(true), true)).toEqual({});
    expect(withDraft({}, key, saved('abc…wxyz'), '')).toEqual({});
    expect(withDraft({}, label, saved(null, 'default'), null)).toEqual({});
  });

  test('typed and typed back leaves the others as they were', () => {
    fc.assert(
      fc.property(anyField, fc.string({ minLength: 1 }), fc.string(), (field, typed, value) => {
        fc.pre(field.kind !== 'flag' && typed !== value);
        const others: Drafts = { 'some.other': 'x' };
        const setting = saved(value);
        const before = textOf(field, setting, undefined);
        fc.pre(typed !== before);
        const changed = withDraft(others, field, setting, typed);
        expect(changed).toEqual({ ...others, [field.path]: typed });
        expect(withDraft(changed, field, setting, before)).toEqual(others);
      }),
    );
  });

  test('of a percentage is a number, with its sign or without', () => {
    const budget = fieldAt('routing.hedgeBudget');
    for (const typed of ['2.5', '2.5%', '2.5 %']) expect(wishOf(budget, typed)).toBe(2.5);
    expect(wishOf(budget, 'few')).toBe('few');
  });

  test('of a choice brings the words for what comes of it, as the default does', () => {
    const resume = fieldAt('routing.resume');
    const hint = (draft: string | null | undefined) => hintOf(resume, saved('off'), draft);
    const words = [undefined, 'any', null].map(hint);
    expect(words).toEqual(
      ['off', 'any', 'same-model'].map(
        (chosen) => resume.choices?.find(({ value }) => value === chosen)?.hint,
      ),
    );
    expect(hintOf(label, saved('Groq'), undefined)).toBe(label.hint);
  });

  test('is what its field shows', () => {
    fc.assert(
      fc.property(anyField, fc.string(), (field, typed) => {
        expect(textOf(field, saved('old'), typed)).toBe(typed);
      }),
    );
  });

  test('of a section goes with it and with no other', () => {
    const [local, hosted] = SECTIONS;
    if (!local || !hosted) throw new Error('there are sections');
    const drafts = { 'local.timeoutMs': '5', 'hosted_a.label': 'Groq' };
    expect(withoutSection(drafts, hosted)).toEqual({ 'local.timeoutMs': '5' });
    expect(isDirty(drafts, hosted)).toBe(true);
    expect(isDirty(withoutSection(drafts, hosted), hosted)).toBe(false);
    expect(patchOf(drafts, hosted)).toEqual({ hosted_a: { label: 'Groq' } });
  });
});

describe('what is sent', () => {
  test('an emptied field asks for the default', () => {
    fc.assert(
      fc.property(anyField, fc.constantFrom('', ' ', '\t '), (field, empty) => {
        expect(wishOf(field, empty)).toBeNull();
        expect(wishOf(field, null)).toBeNull();
      }),
    );
  });

  test('a whole number goes as a number, whatever else was typed as it is', () => {
    fc.assert(
      fc.property(fc.integer(), (number) => {
        expect(wishOf(timeout, ` ${number} `)).toBe(number);
      }),
    );
    for (const odd of ['soon', '1e3', '0x10', '12 s', 'Infinity', '5,000']) {
      expect(wishOf(timeout, odd)).toBe(odd);
    }
  });

  test('headers go as the object that they say, and as text where they say none', () => {
    const headers = fieldAt('hosted_a.headers');
    expect(wishOf(headers, '{"X-Team":"blue"}')).toEqual({ 'X-Team': 'blue' });
    expect(wishOf(headers, '{"X-Team":')).toBe('{"X-Team":');
  });

  test('a pasted key loses the blanks around it', () => {
    expect(wishOf(key, ' sk-1234\n')).toBe('sk-1234');
  });
});

describe('what is hidden', () => {
  test('is never shown as if it could be edited: saving it would save the mask', () => {
    for (const [field, value] of [
      [key, 'sk-…wxyz'],
      [address, 'https://…@api.test/v1?…'],
      [fieldAt('hosted_a.headers'), { 'X-Team': '…' }],
    ] as const) {
      expect(isHidden(field, saved(value))).toBe(true);
      expect(textOf(field, saved(value), undefined)).toBe('');
      expect(placeholderOf(field, saved(value), undefined)).toContain('…');
    }
    expect(isHidden(address, saved('https://api.test/v1'))).toBe(false);
  });
});

describe('lists', () => {
  const ports = fieldAt('agent.ports');
  const keys = fieldAt('gateway.apiKeys');

  test('are shown and sent item by item', () => {
    expect(textOf(ports, saved([3001, 47_901]), undefined)).toBe('3001, 47901');
    expect(wishOf(ports, ' 3001,3002 , soon')).toEqual([3001, 3002, 'soon']);
    expect(wishOf(keys, 'one, two,')).toEqual(['one', 'two']);
    expect(placeholderOf(ports, saved([1]), null)).toBe('default: 3001, 47901');
  });

  test('of secrets are never shown as if they could be edited', () => {
    expect(textOf(keys, saved(['sk-…wxyz']), undefined)).toBe('');
    expect(placeholderOf(keys, saved(['sk-…wxyz', '…']), undefined)).toBe('sk-…wxyz, …');
  });
});

test('only what is entered waits for a restart', () => {
  const gateway = SECTIONS.find(({ id }) => id === 'gateway');
  if (gateway === undefined) throw new Error('there is one');
  const later = { value: 1, source: 'file', restart: true } as const;
  const view = { gateway: { port: later, maxBodyBytes: saved(1) } };
  expect(waitsForRestart({ 'gateway.port': '2' }, gateway, view)).toBe(true);
  expect(waitsForRestart({ 'gateway.port': null }, gateway, view)).toBe(true);
  expect(waitsForRestart({ 'gateway.maxBodyBytes': '2' }, gateway, view)).toBe(false);
  expect(waitsForRestart({ 'local.baseUrl': 'x' }, gateway, view)).toBe(false);
});

describe('words', () => {
  test('the default is shown where it is going to be', () => {
    expect(placeholderOf(timeout, saved(5), null)).toBe('default: 30000');
    expect(placeholderOf(label, saved('Groq'), null)).toBe('none');
    expect(isOn(fieldAt('ondemand.warmup'), saved(false), null)).toBe(true);
    expect(isOn(fieldAt('routing.forceZero'), saved(true), null)).toBe(false);
  });

  test('where a value comes from', () => {
    expect(sourceWords(saved(1, 'env'))).toBe('environment');
    expect(sourceWords(saved(1, 'file'))).toBe('set here');
    expect(sourceWords(saved(1, 'default'))).toBe('default');
    expect(sourceWords(saved(null, 'default'))).toBe('not set');
    expect(sourceWords(saved({}, 'default'))).toBe('not set');
  });

  test('long times are said in words beside their milliseconds', () => {
    expect(unitOf(timeout, '90000')).toBe('ms = 1 min 30 s');
    expect(unitOf(timeout, '250')).toBe('ms');
    expect(unitOf(timeout, 'soon')).toBe('ms');
    expect(unitOf(label, '90000')).toBe('');
  });
});

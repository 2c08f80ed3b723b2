import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  isDirty,
  isHidden,
  isOn,
  patchOf,
  textOf,
  valueOf,
  waitsForRestart,
  withDraft,
  withoutSection,
} from '../../renderer/features/settings/draft.ts';
import { changeOf, draftOf, standingOf } from '../../renderer/features/settings/key-limits.tsx';
import {
  placeholderOf,
  sectionSummary,
  sourceWords,
  unitOf,
} from '../../renderer/features/settings/setting-field.tsx';
import { sectionsOf } from '../../renderer/features/settings/settings-table.ts';
import { fieldAt, FIELDS, saved, SECTIONS, viewOf } from './settings-builders.ts';

test('the settings page shows all settings that the gateway answers, in its order', () => {
  const paths = Object.entries(viewOf()).flatMap(([section, settings]) =>
    Object.keys(settings).map((key) => `${section}.${key}`),
  );
  expect(FIELDS.map(({ path }) => path)).toEqual(paths);
});

test('a setting and a choice of a newer gateway are shown under their own names', () => {
  const choice = { ...fieldAt('routing.hedge'), choices: [{ value: 'wide', meaning: 'Wide.' }] };
  const [section] = sectionsOf({ future: { maxQueueMs: choice } });
  expect(section).toMatchObject({
    id: 'future',
    upstream: null,
    fields: [{ path: 'future.maxQueueMs', label: 'Max queue ms', choices: [{ label: 'wide' }] }],
  });
});

const anyField = fc.constantFrom(...FIELDS);
const label = fieldAt('hosted_a.label');
const timeout = fieldAt('hosted_a.timeoutMs');
const key = fieldAt('hosted_a.apiKey');
const address = fieldAt('hosted_a.baseUrl');
const listOfKeys = fieldAt('gateway.apiKeys');

test('a value that equals the saved one is not a draft', () => {
  expect(withDraft({}, saved(label, 'Groq'), 'Groq')).toEqual({});
  expect(withDraft({}, saved(fieldAt('ondemand.warmup'), true), true)).toEqual({});
  expect(withDraft({}, saved(key, 'abc…wxyz'), '')).toEqual({});
  expect(withDraft({}, label, null)).toEqual({});
});

test('a draft belongs to its section and to no other', () => {
  const [local, hosted] = SECTIONS;
  if (!local || !hosted) throw new Error('there are sections');
  const drafts = { 'local.timeoutMs': '5', 'hosted_a.label': 'Groq' };
  expect(withoutSection(drafts, hosted)).toEqual({ 'local.timeoutMs': '5' });
  expect(isDirty(drafts, hosted)).toBe(true);
  expect(isDirty(withoutSection(drafts, hosted), hosted)).toBe(false);
  expect(patchOf(drafts, hosted)).toEqual({ hosted_a: { label: 'Groq' } });
});

test('an emptied field asks for the default', () => {
  fc.assert(
    fc.property(anyField, fc.constantFrom('', ' ', '\t '), (field, empty) => {
      expect(valueOf(field, empty)).toBeNull();
      expect(valueOf(field, null)).toBeNull();
    }),
  );
});

test('a whole number is sent as a number, and anything else as it was typed', () => {
  fc.assert(
    fc.property(fc.integer(), (number) => {
      expect(valueOf(timeout, ` ${number} `)).toBe(number);
    }),
  );
  for (const odd of ['soon', '1e3', '0x10', '12 days', 'Infinity', '5,000'])
    expect(valueOf(timeout, odd)).toBe(odd);
});

test('a time may be typed in a larger unit', () => {
  const typed = ['30 s', '1.5 min', '2h', '250 ms', '0.5s'];
  const times = typed.map((text) => valueOf(timeout, text));
  expect(times).toEqual([30_000, 90_000, 7_200_000, 250, 500]);
  expect(valueOf(fieldAt('circuit.failThreshold'), '30 s')).toBe('30 s');
});

test('headers are sent as the object that they spell, and as text if they spell none', () => {
  const headers = fieldAt('hosted_a.headers');
  expect(valueOf(headers, '{"X-Team":"blue"}')).toEqual({ 'X-Team': 'blue' });
  expect(valueOf(headers, '{"X-Team":')).toBe('{"X-Team":');
});

test('a pasted key loses the blanks around it', () => {
  expect(valueOf(key, ' sk-1234\n')).toBe('sk-1234');
});

test('a hidden value is never shown as editable, as saving it would save the mask', () => {
  for (const [field, value] of [
    [key, 'sk-…wxyz'],
    [address, 'https://…@api.test/v1?…'],
    [fieldAt('hosted_a.headers'), { 'X-Team': '…' }],
    [listOfKeys, ['sk-…wxyz']],
  ] as const) {
    const hidden = saved(field, value);
    expect(isHidden(hidden)).toBe(true);
    expect(textOf(hidden, undefined)).toBe('');
    expect(placeholderOf(hidden, undefined)).toContain('…');
  }
  expect(isHidden(saved(address, 'https://api.test/v1'))).toBe(false);
});

const ports = fieldAt('agent.ports');

test('a list is shown and sent item by item', () => {
  expect(textOf(saved(ports, [3001, 47_901]), undefined)).toBe('3001, 47901');
  expect(valueOf(ports, ' 3001,3002 , soon')).toEqual([3001, 3002, 'soon']);
  expect(valueOf(listOfKeys, 'one, two,')).toEqual(['one', 'two']);
  expect(placeholderOf(saved(ports, [1]), null)).toBe('default: 3001, 47901');
  expect(placeholderOf(saved(listOfKeys, ['sk-…wxyz', '…']), undefined)).toBe('sk-…wxyz, …');
});

test('only a change to a setting that is read at the start waits for a restart', () => {
  const gateway = SECTIONS.find(({ id }) => id === 'gateway');
  if (gateway === undefined) throw new Error('there is one');
  expect(waitsForRestart({ 'gateway.port': '2' }, gateway)).toBe(true);
  expect(waitsForRestart({ 'gateway.port': null }, gateway)).toBe(true);
  expect(waitsForRestart({ 'gateway.maxBodyBytes': '2' }, gateway)).toBe(false);
  expect(waitsForRestart({ 'local.baseUrl': 'x' }, gateway)).toBe(false);
});

test('machines serve local without an address if any can, and otherwise it is not set up', () => {
  const local = SECTIONS.find(({ upstream }) => upstream === 'local');
  if (local === undefined) throw new Error('no section of Local');
  expect(sectionSummary(local, viewOf(), 0)).toBe('not set up');
  expect(sectionSummary(local, viewOf(), 1)).toBe('served by 1 machine');
});

test('the default is shown in a field that is going to have it', () => {
  expect(placeholderOf(saved(timeout, 5), null)).toBe('default: 30000');
  expect(placeholderOf(saved(label, 'Groq'), null)).toBe('none');
  expect(isOn(saved(fieldAt('ondemand.warmup'), false), null)).toBe(true);
  expect(isOn(saved(fieldAt('routing.forceZero'), true), null)).toBe(false);
});

test('a setting shows where its value comes from', () => {
  expect(sourceWords(saved(label, 1, 'env'))).toBe('environment');
  expect(sourceWords(saved(label, 1, 'file'))).toBe('set here');
  expect(sourceWords(saved(label, 1, 'default'))).toBe('default');
  expect(sourceWords(saved(label, null, 'default'))).toBe('not set');
  expect(sourceWords(saved(label, {}, 'default'))).toBe('not set');
});

test('long times are shown in words alongside their milliseconds', () => {
  expect(unitOf(timeout, '90000')).toBe('ms = 1 min 30 s');
  expect(unitOf(timeout, '250')).toBe('ms');
  expect(unitOf(timeout, 'soon')).toBe('ms');
  expect(unitOf(label, '90000')).toBe('');
  expect(unitOf(fieldAt('gateway.maxBodyBytes'), '33554432')).toBe('bytes = 32 MiB');
});

const use = (used: number, limit: number) => {
  return { name: 'requestsDay', used, limit, resetsAt: '2026-11-23T00:00:00.000Z' } as const;
};

test.each([
  [799, 'free'],
  [800, 'near'],
  [999, 'near'],
  [1000, 'reached'],
  [1001, 'reached'],
])('a use of %d of 1000 is %s', (used, standing) => {
  expect(standingOf(use(used, 1000))).toBe(standing);
});

test('a field that is emptied lifts its limit, and one that is left alone keeps it', () => {
  const draft = draftOf([use(5, 1000), { ...use(5, 70), name: 'tokensMonth' }]);
  expect(changeOf({ ...draft, requestsDay: '', tokensDay: '20' })).toEqual({
    requestsDay: null,
    requestsMonth: null,
    tokensDay: 20,
    tokensMonth: 70,
  });
});

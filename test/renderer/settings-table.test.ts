import { describe, expect, test } from 'vitest';
import { sectionsOf } from '../../renderer/features/settings/settings-table.ts';
import { fieldAt, FIELDS, SECTIONS, viewOf } from './settings-builders.ts';

describe('the settings in the window', () => {
  test('are all that the gateway answers, in its order', () => {
    const paths = Object.entries(viewOf()).flatMap(([section, settings]) =>
      Object.keys(settings).map((key) => `${section}.${key}`),
    );
    expect(FIELDS.map(({ path }) => path)).toEqual(paths);
  });

  test('say of each what the gateway says of it', () => {
    const view = viewOf({ SWITCHYARD_HOSTED_A_MODEL: 'big' });
    for (const { section, key, path, label, choices, ...said } of sectionsOf(view).flatMap(
      ({ fields }) => fields,
    )) {
      const { choices: answered = [], ...facts } = view[section]?.[key] ?? {};
      expect({ path, ...said }).toEqual({ path: `${section}.${key}`, ...facts });
      expect(choices.map(({ value, meaning }) => ({ value, meaning }))).toEqual(answered);
      expect({ path, label }).not.toEqual({ path, label: key });
    }
  });

  test('show a setting and a choice of a newer gateway under their own names', () => {
    const choice = { ...fieldAt('routing.hedge'), choices: [{ value: 'wide', meaning: 'Wide.' }] };
    const [section] = sectionsOf({ future: { maxQueueMs: choice } });
    expect(section).toMatchObject({
      id: 'future',
      upstream: null,
      fields: [{ path: 'future.maxQueueMs', label: 'Max queue ms', choices: [{ label: 'wide' }] }],
    });
  });

  test('every setting and every choice has a name of its own', () => {
    for (const { fields } of SECTIONS) {
      expect(new Set(fields.map(({ label }) => label)).size).toBe(fields.length);
    }
    for (const { choices } of FIELDS) {
      expect(new Set(choices.map(({ label }) => label)).size).toBe(choices.length);
    }
  });

  test('wherever a prompt or an answer may be paid twice, the choice says so', () => {
    const meaningOf = (path: string, value: string) =>
      fieldAt(path).choices.find((choice) => choice.value === value)?.meaning;
    for (const value of ['own', 'all']) expect(meaningOf('routing.hedge', value)).toMatch(/paid/);
    for (const value of ['same-model', 'any']) {
      expect(meaningOf('routing.resume', value)).toMatch(/pay for the prompt again/);
    }
    for (const path of ['routing.hedge', 'routing.resume']) {
      expect(meaningOf(path, 'off')).not.toMatch(/pa(id|y)/);
    }
  });
});

import { expect, test } from 'vitest';
import { NO_RULES, OWNER_RULE_KEYS } from '../../main/agent/availability/rules.ts';
import { ENTRIES, SETTINGS } from '../../main/config/schema.ts';
import { RULE_KEYS, whyIneffective } from '../../renderer/features/this-machine/owner-rules.tsx';
import { owner } from './agent-builders.ts';

test('every owner rule of the agent has words and a setting of its own, and no other rule has', () => {
  expect(RULE_KEYS).toEqual([
    ...OWNER_RULE_KEYS,
    // They go with rules, and can always be judged.
    'freeMemory',
    'idleUnloadMin',
  ]);
  const paths = ENTRIES.map(({ path }) => path);
  expect(paths).toEqual(expect.arrayContaining(OWNER_RULE_KEYS.map((key) => `agent.${key}`)));
  const config = SETTINGS.agent;
  for (const key of OWNER_RULE_KEYS) expect(config[key].fallback).toBe(NO_RULES[key]);
});

test.each(RULE_KEYS.filter((key) => OWNER_RULE_KEYS.some((rule) => rule === key)))(
  'the rule %s is said to have no effect only where it cannot be judged',
  (key) => {
    const judged = owner('on', 'on');
    expect(whyIneffective(judged, key, true)).toBe(null);
    const unjudgeable = { ...judged, unjudgeable: [key] };
    expect(whyIneffective(unjudgeable, key, false)).toMatch(/^It would have no effect here: .+\.$/);
    expect(whyIneffective(unjudgeable, key, true)).toMatch(/^It has no effect here: /);
  },
);

import { expect, test } from 'vitest';
import { NO_RULES, OWNER_RULE_KEYS } from '../../main/agent/availability/rules.ts';
import { ENTRIES, SETTINGS } from '../../main/config/schema.ts';
import { RULE_KEYS } from '../../renderer/features/this-machine/owner-rules.tsx';

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

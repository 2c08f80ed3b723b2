import { expect, test } from 'vitest';
import { createIdentify } from '../../../main/gateway/auth/identity.ts';

const RULES = {
  apiKeys: [],
  named: { isEmpty: () => true, use: () => null },
  controlToken: 'c'.repeat(64),
  isSession: () => false,
};

test('a gateway that others can reach stays closed after its last key is revoked', () => {
  const exposed = createIdentify({ ...RULES, isExposed: () => true });
  expect(exposed({}).reader).toBe(false);
  expect(exposed({ authorization: `Bearer ${RULES.controlToken}` })).toMatchObject({
    reader: true,
    control: true,
    keyName: null,
  });
  expect(createIdentify({ ...RULES, isExposed: () => false })({}).reader).toBe(true);
});

test('a gateway without any key of its own makes no digest of what callers send', () => {
  let asked = 0;
  const named = { isEmpty: () => true, use: () => ((asked += 1), null) };
  const identify = createIdentify({ ...RULES, named, isExposed: () => false });
  const { authorization, key } = identify({ authorization: 'Bearer of-an-engine' });
  expect([authorization, key, asked]).toEqual(['Bearer of-an-engine', null, 0]);
});

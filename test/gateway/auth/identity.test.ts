import { expect, test } from 'vitest';
import { createIdentify } from '../../../main/gateway/auth/identity.ts';
import { configOf } from '../../support/config.ts';

const CONFIG = configOf({});

const DEPS = {
  config: () => CONFIG,
  keys: { isEmpty: () => true, use: () => null },
  controlToken: 'c'.repeat(64),
};

const NO_SESSION = () => false;

test('a gateway that others can reach stays closed after its last key is revoked', () => {
  const exposed = createIdentify({ ...DEPS, isShared: () => true }, NO_SESSION);
  expect(exposed({}).reader).toBe(false);
  expect(exposed({ authorization: `Bearer ${DEPS.controlToken}` })).toMatchObject({
    reader: true,
    control: true,
    keyName: null,
  });
  expect(createIdentify({ ...DEPS, isShared: () => false }, NO_SESSION)({}).reader).toBe(true);
});

test('a gateway without any key of its own makes no digest of what callers send', () => {
  let asked = 0;
  const keys = { isEmpty: () => true, use: () => ((asked += 1), null) };
  const identify = createIdentify({ ...DEPS, keys, isShared: () => false }, NO_SESSION);
  const { authorization, key } = identify({ authorization: 'Bearer of-an-engine' });
  expect([authorization, key, asked]).toEqual(['Bearer of-an-engine', null, 0]);
});

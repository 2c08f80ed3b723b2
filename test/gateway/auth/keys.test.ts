import { expect, test } from 'vitest';
import { createIdentify } from '../../../main/gateway/auth/keys.ts';
import { configOf } from '../../support/config.ts';

const CONFIG = configOf({});

const DEPS = {
  config: () => CONFIG,
  keys: { isEmpty: () => true, use: () => null },
  controlToken: 'c'.repeat(64),
};

const NO_SESSION = () => false;

test('a gateway without any key of its own makes no digest of what callers send', () => {
  let asked = 0;
  const keys = { isEmpty: () => true, use: () => ((asked += 1), null) };
  const identify = createIdentify({ ...DEPS, keys, isShared: () => false }, NO_SESSION);
  const { authorization, key } = identify({ authorization: 'Bearer of-an-engine' });
  expect([authorization, key, asked]).toEqual(['Bearer of-an-engine', null, 0]);
});

const secret = DEPS.controlToken;

test.each([
  ['without a scheme', { authorization: secret }],
  ['behind two', { authorization: `Bearer Bearer ${secret}` }],
  ['in quotes', { authorization: `Bearer "${secret}"` }],
  ['behind another scheme', { authorization: `Token ${secret}` }],
  ['in a list', { authorization: `Bearer other,${secret}` }],
  ['as a password', { authorization: `Basic ${Buffer.from(`user:${secret}`).toString('base64')}` }],
  ['with its scheme as an API key', { 'x-api-key': `Bearer ${secret}` }],
])('a secret of the gateway %s counts for nothing and goes to no engine', (_how, headers) => {
  const identify = createIdentify({ ...DEPS, isShared: () => true }, NO_SESSION);
  expect(identify(headers)).toMatchObject({ reader: false, control: false, authorization: null });
});

import { expect, test } from 'vitest';
import { listHeaders } from '../../../main/gateway/upstream/own-requests.ts';
import { parseBaseAddress } from '../../../main/gateway/upstream/upstreams.ts';

const ANTHROPIC = 'https://api.anthropic.com/v1';
const VERSION = ['anthropic-version', '2023-06-01'];

test.each([
  ['a key as a bearer', 'https://api.test/v1', 'sk', ['authorization', 'Bearer sk']],
  ['a key before the address’s own', 'http://u:p@a.test', 'sk', ['authorization', 'Bearer sk']],
  ['what the address holds', 'http://u:p@a.test', null, ['authorization', 'Basic dTpw']],
  ['no credentials where there is no key', 'http://a.test', null, []],
  ['Anthropic’s own headers', ANTHROPIC, 'sk', ['x-api-key', 'sk', ...VERSION]],
])('a request for a list of models carries %s', (_what, baseUrl, apiKey, expected) => {
  const baseAddress = parseBaseAddress(baseUrl, 'hosted_a');
  const headers = { 'X-Team': 'one' };
  expect(listHeaders({ baseAddress, apiKey, headers })).toEqual(['X-Team', 'one', ...expected]);
});

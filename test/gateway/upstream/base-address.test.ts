import { expect, test } from 'vitest';
import { listHeaders } from '../../../main/gateway/upstream/own-requests.ts';
import { parseBaseAddress } from '../../../main/gateway/upstream/upstreams.ts';

/** The address that a chat completion is sent to. */
function chatAt(baseUrl: string, id: 'local' | 'hosted_a'): string {
  const { origin, apiPath, query } = parseBaseAddress(baseUrl, id);
  return `${origin}${apiPath}/chat/completions${query}`;
}

test.each([
  ['https://api.example.com/v1', 'https://api.example.com/v1/chat/completions'],
  ['https://api.example.com/v1/', 'https://api.example.com/v1/chat/completions'],
  ['https://api.example.com/v1/chat/completions', 'https://api.example.com/v1/chat/completions'],
  ['https://api.example.com/v4/messages/', 'https://api.example.com/v4/chat/completions'],
  ['https://api.example.com/v1/models', 'https://api.example.com/v1/chat/completions'],
  ['https://api.example.com/chat/completions', 'https://api.example.com/chat/completions'],
  [
    'https://x.services.ai.azure.com/models?api-version=2024-05-01-preview',
    'https://x.services.ai.azure.com/models/chat/completions?api-version=2024-05-01-preview',
  ],
])('a hosted API at the base URL %s is called at %s', (baseUrl, address) => {
  expect(chatAt(baseUrl, 'hosted_a')).toBe(address);
});

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

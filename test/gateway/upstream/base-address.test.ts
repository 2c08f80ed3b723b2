import { expect, test } from 'vitest';
import { parseBaseAddress, upstreamPath } from '../../../main/gateway/upstream/upstreams.ts';

/** The address that a chat completion is sent to. */
function chatAt(baseUrl: string, id: 'local' | 'hosted_a'): string {
  const { origin, basePath, query } = parseBaseAddress(baseUrl, id);
  return origin + basePath + upstreamPath(id, '/chat/completions') + query;
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

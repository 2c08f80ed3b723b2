import { expect, test } from 'vitest';
import {
  candidatesOf,
  type CandidateFacts,
} from '../../../main/registry/verification/candidates.ts';

const facts = (
  agentUrl: string,
  hostname = '',
  tailnetHostname: string | null = null,
  lastHeartbeatIp = '',
): CandidateFacts => ({
  record: { agent_url: agentUrl, host: { hostname, tailnet_hostname: tailnetHostname } },
  lastHeartbeatIp,
});

const shown = (of: CandidateFacts) =>
  candidatesOf(of, 47_901).map((one) => (one.kind === 'usable' ? one.origin : one.error));

test('a machine has four candidate addresses, in order of preference', () => {
  const of = facts('http://192.168.1.20:3001', 'tower', 'tower.tail1.ts.net.', '192.168.1.20');
  expect(candidatesOf(of, 47_901)).toEqual([
    { kind: 'usable', source: 'agent_url', origin: 'http://192.168.1.20:3001' },
    { kind: 'usable', source: 'tailnet', origin: 'http://tower.tail1.ts.net:47901' },
    { kind: 'usable', source: 'hostname', origin: 'http://tower:47901' },
    { kind: 'usable', source: 'heartbeat_ip', origin: 'http://192.168.1.20:47901' },
  ]);
});

test.each([
  ['fd7a:115c:a1e0::5', 'http://[fd7a:115c:a1e0::5]:47901'],
  ['::ffff:192.168.1.20', 'http://192.168.1.20:47901'],
  ['::1', 'http://[::1]:47901'],
])('a heartbeat from %s leads to %s', (ip, origin) => {
  expect(shown(facts('', '', null, ip))).toEqual([origin]);
});

test.each([
  ['nonsense', 'not a URL'],
  ['http://a b:3001', 'not a URL'],
  ['http://user:secret@tower:3001', 'a user name or password is not allowed'],
  ['http://user:secret@to wer:3001', 'not a URL'],
  ['http://tower:3001/base', 'a path is not allowed'],
  ['http://tower:3001/?token=secret', 'a path is not allowed'],
  ['http://tower:3001/#x', 'a path is not allowed'],
])('the agent URL %s is not used: %s', (url, error) => {
  const [candidate] = candidatesOf(facts(url), 47_901);
  expect(candidate).toMatchObject({ kind: 'unusable', error });
  expect(JSON.stringify(candidate)).not.toContain('secret');
});

test.each([
  'evil.test/path',
  'user@evil.test',
  'evil.test:22',
  'evil.test?x',
  'evil.test#x',
  'a b',
  '[::1]',
  'a\\b',
  'a\nb',
  '%',
  '999.999.999.999',
  '^',
])('the host name %j is not used', (name) => {
  expect(shown(facts('', name))).toEqual(['not a host name']);
});

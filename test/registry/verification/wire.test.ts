import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../../main/platform/clock.ts';
import { runChecks, type RunEdges } from '../../../main/registry/verification/checks.ts';
import type { Finding } from '../../../main/registry/verification/judgements.ts';
import { verdictOf } from '../../../main/registry/verification/verdict.ts';
import type { VerificationSubject } from '../../../main/registry/verifier-host.ts';
import { tlsFile, trustOwnCertificate } from '../../support/byte-server.ts';
import { createManualClock } from '../../support/clock.ts';
import {
  aloneAt,
  type Answer,
  bytes,
  edgesFor,
  type FakeProvider,
  hangUp,
  json,
  silence,
  startFakeProvider,
  subjectOf,
} from '../fake-provider.ts';
import { listening } from '../../support/listening.ts';

interface Setting {
  readonly clock?: Clock;
  readonly subject?: VerificationSubject;
  readonly edges?: Partial<RunEdges>;
}

/** A run with the agent URL as its one candidate that is allowed. */
async function run(
  provider: FakeProvider,
  { clock = systemClock, subject = aloneAt(provider), edges = {} }: Setting = {},
): Promise<readonly Finding[] | null> {
  const base = edgesFor(provider, clock);
  // Nobody listens on port 1, and it is not allowed.
  const rules = { ...base.rules, hostPort: 1 };
  const { signal } = new AbortController();
  return runChecks({ subject, inference: 'run', signal }, { ...base, rules, ...edges });
}

const health = (findings: readonly Finding[] | null) => findings?.[0]?.check;
const named = (findings: readonly Finding[] | null, name: string) =>
  findings?.find(({ check }) => check.name === name)?.check;
const INFERENCE = 'test inference returns choices';
const LATENCY = 'latency <10s';

const OK = 'HTTP/1.1 200 OK\r\n';
const TOO_LONG = 'the answer is over 65536 bytes';
const CLOSED = 'the connection was closed';

test.each<[says: string, answer: Answer, error: string]>([
  ['sends a body over 64 KiB', ({ res }) => void res.end('x'.repeat(65_537)), TOO_LONG],
  ['sends a body without end', ({ res }) => endless(res), TOO_LONG],
  [
    'sends a head over 32 KiB',
    bytes(`${OK}x: ${'x'.repeat(40_000)}`),
    'the response head is too large',
  ],
  ['speaks no HTTP', bytes('hello\r\n\r\n'), 'the response is not HTTP'],
  ['hangs up', hangUp, CLOSED],
  ['breaks off', ({ socket }) => void socket.end(`${OK}content-length: 9\r\n\r\nab`), CLOSED],
  [
    'switches protocols',
    bytes('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
    'the response is not HTTP',
  ],
  [
    'sends interim answers',
    bytes('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(101)),
    'too many interim heads came before the response',
  ],
  ['redirects', json(307, {}, { location: 'http://x.test/' }), 'redirect refused (HTTP 307)'],
])('a hostile machine that %s fails its check', async (_says, answer, error) => {
  const provider = await startFakeProvider();
  provider.on('/health', answer);
  expect(health(await run(provider))).toMatchObject({ passed: false, error });
});

test.each<[says: string, answer: Answer]>([
  ['never answers', silence],
  ['sends its head a byte at a time', ({ socket }) => void socket.write('HTTP/1.1 200 O')],
  ['sends half a body', ({ res }) => void res.writeHead(200, { 'content-length': 9 }).write('ab')],
])('a hostile machine that %s has 5 s', async (_says, answer) => {
  const clock = createManualClock();
  const provider = await startFakeProvider();
  provider.on('/health', answer);
  const running = run(provider, { clock });
  await provider.call('/health');
  clock.advance(5000);
  expect(health(await running)).toMatchObject({ error: 'no answer in time', latencyMs: 5000 });
  expect(clock.pending()).toBe(0);
});

test('no redirect of a hostile machine is followed on any route', async () => {
  const trap = await startFakeProvider();
  const provider = await startFakeProvider();
  const away = json(302, {}, { location: `http://127.0.0.1:${trap.port}/` });
  for (const path of ['/v1/models', '/v1/chat/completions']) provider.on(path, away);
  const findings = await run(provider);
  expect(named(findings, INFERENCE)?.error).toBe('redirect refused (HTTP 302)');
  expect(named(findings, 'model id matches')?.error).toBe('redirect refused (HTTP 302)');
  expect(trap.connections()).toBe(0);
});

test.each([
  [9900, true, 'verified'],
  [9999, true, 'verified'],
  [10_100, false, 'failed'],
])('a test inference answered after %i ms passes: %j', async (ms, passed, kind) => {
  const clock = createManualClock();
  const provider = await startFakeProvider();
  provider.on('/v1/chat/completions', silence);
  const running = run(provider, { clock });
  const call = await provider.call('/v1/chat/completions');
  clock.advance(ms);
  json(200, { choices: [{}] })(call);
  const findings = await running;
  expect(named(findings, INFERENCE)).toMatchObject({ passed, latencyMs: ms });
  expect(named(findings, LATENCY)).toMatchObject({ passed, latencyMs: ms });
  expect(verdictOf(findings ?? [], false).kind).toBe(kind);
});

test('a verification run is over after 60 s, whatever it meets', async () => {
  const clock = createManualClock();
  const provider = await startFakeProvider();
  provider.on('/v1/chat/completions', silence);
  provider.on('/v1/models', silence);
  const { signal } = new AbortController();
  const order = { subject: subjectOf(provider), inference: 'run', signal } as const;
  provider.on('/health', silence);
  const running = runChecks(order, edgesFor(provider, clock));
  const calls = await Promise.all([1, 2, 3, 4].map((n) => provider.call('/health', n)));
  clock.advance(4000);
  for (const call of calls) provider.healthy(call);
  for (const n of [1, 2, 3]) {
    await provider.call('/v1/chat/completions', n);
    clock.advance(10_000);
    await provider.call('/v1/models', n);
    clock.advance(5000);
  }
  await provider.call('/v1/chat/completions', 4);
  clock.advance(10_000);
  await provider.call('/v1/models', 4);
  clock.advance(1000);
  const findings = (await running) ?? [];
  expect(clock.ticks()).toBe(60_000);
  expect(findings.at(-1)?.check.error).toBe('the run ran out of time');
  expect(clock.pending()).toBe(0);
});

const METADATA = '169.254.169.254';

test.each([
  ['its own', '192.168.1.20', ['127.0.0.1'], 'loopback'],
  ['a mapped form of its own', '127.0.0.1', ['::ffff:127.0.0.1'], 'IPv4 written as IPv6'],
  ['forbidden beside a good one', '127.0.0.1', ['127.0.0.1', METADATA], 'metadata service'],
])(
  'an address that is %s is never connected to',
  async (_says, lastHeartbeatIp, addresses, why) => {
    const trap = await startFakeProvider();
    const subject = { ...aloneAt(trap), lastHeartbeatIp };
    const lookup = () => Promise.resolve(addresses);
    const findings = await run(trap, { subject, edges: { lookup } });
    expect(health(findings)?.error).toBe(`address not allowed: ${why}`);
    expect(trap.connections()).toBe(0);
  },
);

test('an address is resolved once, so a name that changes its answer leads nowhere else', async () => {
  const provider = await startFakeProvider();
  let asked = 0;
  const lookup = () => {
    asked += 1;
    return Promise.resolve([asked === 1 ? '127.0.0.1' : METADATA]);
  };
  const findings = await run(provider, { edges: { lookup } });
  expect(asked).toBe(1);
  expect(provider.calls.map(({ host }) => host)).toEqual(Array(3).fill('agent.test'));
  expect(verdictOf(findings ?? [], false)).toEqual({
    kind: 'verified',
    address: `http://127.0.0.1:${provider.port}`,
  });
});

test('a check of a name that does not resolve ends after 5 s', async () => {
  const clock = createManualClock();
  const provider = await startFakeProvider();
  const lookup = () => new Promise<never>(() => {});
  const running = run(provider, { clock, edges: { lookup } });
  clock.advance(5000);
  expect(health(await running)?.error).toBe('the name was not resolved in 5 s');
});

test('an address on one of this process’s own ports is used for the gateway’s own agent alone', async () => {
  const provider = await startFakeProvider();
  const rules = { ports: [3001, 47_901], hostPort: 47_901, ownPorts: () => [provider.port] };
  const own = { ...aloneAt(provider, `http://127.0.0.1:${provider.port}`), isOwn: true };
  expect(health(await run(provider, { subject: own, edges: { rules } }))?.passed).toBe(true);
  const other = { ...own, isOwn: false };
  const refused = health(await run(provider, { subject: other, edges: { rules } }))?.error;
  expect(refused).toBe(`port ${provider.port} is not allowed (3001 or 47901)`);
});

describe('verification over TLS', () => {
  trustOwnCertificate();
  const startTls = (cert = 'agent.cert.pem') =>
    startFakeProvider({ tls: { key: tlsFile('agent.key.pem'), cert: tlsFile(cert) } });
  const at = (provider: FakeProvider, host: string) => ({
    subject: aloneAt(provider, `https://${host}:${provider.port}`),
  });

  test.each(['agent.test', '127.0.0.1'])(
    'the certificate of a machine is checked against %s',
    async (host) => {
      const provider = await startTls();
      const findings = await run(provider, at(provider, host));
      expect(verdictOf(findings ?? [], false)).toEqual({
        kind: 'verified',
        address: `https://${host}:${provider.port}`,
      });
      expect(provider.calls[0]?.host).toBe(host);
    },
  );

  test.each([
    ['certificate is for another name', 'tower.test', 'agent.cert.pem'],
    ['certificate has expired', 'agent.test', 'expired.cert.pem'],
  ])('a machine over TLS is refused if its %s', async (error, host, cert) => {
    const provider = await startTls(cert);
    expect(health(await run(provider, at(provider, host)))?.error).toContain(error);
    expect(provider.calls).toEqual([]);
  });

  test('a check ends after 5 s if its TLS connection does not come about', async () => {
    const clock = createManualClock();
    const provider = await startFakeProvider();
    const silent = createServer(() => {});
    const port = await listening(silent);
    const connected = new Promise<void>((resolve) => silent.once('connection', () => resolve()));
    const rules = { ports: [port], hostPort: 1, ownPorts: () => [] };
    const subject = aloneAt(provider, `https://agent.test:${port}`);
    const running = run(provider, { clock, subject, edges: { rules } });
    await connected;
    clock.advance(5000);
    expect(health(await running)?.error).toBe('no answer in time');
  });
});

function endless(res: Parameters<Answer>[0]['res']): void {
  const more = () => {
    while (!res.destroyed && res.write('x'.repeat(8192)));
  };
  res.on('drain', more);
  more();
}

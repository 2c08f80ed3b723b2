import { createServer, type IncomingMessage } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { createHttpLink, createSequence } from '../../../main/agent/registration/link.ts';
import { openIdentity } from '../../../main/agent/storage.ts';
import { createHttpClient } from '../../../main/platform/http/client.ts';
import { agentRecord } from '../../support/agent-record.ts';
import { createManualClock } from '../../support/clock.ts';
import { temporaryDirectory } from '../../support/gateway.ts';
import { listening } from '../../support/listening.ts';

const ACCEPTED = {
  status: 'serving',
  verification: { status: 'verified', routable: true, failure_reason: '' },
  heartbeat_ms: 15_000,
  gateway_token: 'e'.repeat(64),
};
const TOKEN = '0'.repeat(64);
const REFUSED = { error: { message: 'it was used', code: 'invalid_token' } };
const UNWRITTEN = { error: { message: 'no database', code: 'registry_unwritten' } };

interface TestGateway {
  readonly url: string;
  /** `away`: it ends the connection. */
  mode: 'up' | 'away' | 'unwritten' | 'refusing';
  /** Messages that it was sent. */
  messages: number;
}

async function gateway(): Promise<TestGateway> {
  const server = createServer((request: IncomingMessage, response) => {
    request.resume();
    self.messages += 1;
    if (self.mode === 'away') request.socket.destroy();
    const [, id] = /keyid="(.*?)"/.exec(String(request.headers['signature-input'])) ?? [];
    if (self.mode === 'up') response.end(JSON.stringify({ ...ACCEPTED, id }));
    if (self.mode === 'refusing') response.writeHead(401).end(JSON.stringify(REFUSED));
    if (self.mode === 'unwritten') response.writeHead(503).end(JSON.stringify(UNWRITTEN));
  });
  const url = `http://127.0.0.1:${await listening(server)}`;
  const self: TestGateway = { url, mode: 'up', messages: 0 };
  return self;
}

async function agentOf(home: TestGateway, others: readonly string[] = []) {
  const directory = temporaryDirectory();
  const clock = createManualClock();
  const http = createHttpClient();
  onTestFinished(() => http.close());
  const link = createHttpLink({
    home: home.url,
    others,
    identity: openIdentity(directory, clock).identity,
    sequence: createSequence(clock),
    http,
    clock,
  });
  const limits = { timeoutMs: 10_000, signal: new AbortController().signal };
  const enroll = () => link.enroll(TOKEN);
  return { link, clock, enroll, beat: () => link.beat(agentRecord(), limits) };
}

test('heartbeats go to the next gateway while their own does not answer, and come back a minute later', async () => {
  const [a, b, c] = [await gateway(), await gateway(), await gateway()];
  const { link, clock, beat } = await agentOf(a, [b.url, c.url]);
  a.mode = 'away';
  b.mode = 'away';
  expect(await beat()).toMatchObject({ kind: 'accepted' });
  expect(link.url).toBe(c.url);
  a.mode = 'up';
  clock.advance(15_000);
  await beat();
  expect(link.url).toBe(c.url);
  clock.advance(45_000);
  await beat();
  expect(link.url).toBe(a.url);
});

test('a gateway without its database is skipped, and its answer is final if no other accepts the heartbeat', async () => {
  const [a, b] = [await gateway(), await gateway()];
  const { beat } = await agentOf(a, [b.url]);
  a.mode = 'unwritten';
  expect(await beat()).toMatchObject({ kind: 'accepted' });
  b.mode = 'away';
  expect(await beat()).toMatchObject({ kind: 'unwritten' });
});

test('a joining machine asks the next gateway if one is silent or has no database, and reports there', async () => {
  const [a, b, c] = [await gateway(), await gateway(), await gateway()];
  const { enroll, beat, link } = await agentOf(a, [b.url, c.url]);
  a.mode = 'away';
  b.mode = 'unwritten';
  expect(await enroll()).toMatchObject({ kind: 'enrolled' });
  expect(link.url).toBe(c.url);
  await beat();
  expect([a, b, c].map(({ messages }) => messages)).toEqual([1, 1, 2]);
});

test('a token that one gateway of the pool refuses is shown to no other', async () => {
  const [a, b] = [await gateway(), await gateway()];
  const { enroll } = await agentOf(a, [b.url]);
  a.mode = 'refusing';
  expect(await enroll()).toMatchObject({ kind: 'refused', code: 'invalid_token' });
  expect(b.messages).toBe(0);
});

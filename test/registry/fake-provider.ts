import { generateKeyPairSync } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import type { AgentRecord } from '#shared/provider.ts';
import {
  parsePublicKey,
  providerIdOf,
  publicKeyOf,
  signHealth,
} from '../../main/platform/agent-identity.ts';
import type { Clock } from '../../main/platform/clock.ts';
import { createHttpClient } from '../../main/platform/http/client.ts';
import { newSecret } from '../../main/platform/secrets.ts';
import { UNVERIFIED } from '../../main/registry/store/store.ts';
import type { RunEdges } from '../../main/registry/verification/checks.ts';
import type { VerificationSubject } from '../../main/registry/verifier-host.ts';
import { recordOf } from './world.ts';
import { listening } from '../support/listening.ts';

/** A request that a fake provider got. */
export interface ProviderCall {
  readonly method: string;
  /** The name under which it was asked, without the port. */
  readonly host: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly socket: Socket;
  readonly res: ServerResponse;
}

export type Answer = (call: ProviderCall) => void;

export type FakeProvider = Awaited<ReturnType<typeof startFakeProvider>>;

/** What a fake provider serves and how it is reached. */
export interface FakeProviderOptions {
  readonly models?: readonly string[];
  readonly tls?: { readonly key: Buffer; readonly cert: Buffer };
}

/** The agent of a GPU machine over real sockets, which passes every check; every route may be scripted. */
export async function startFakeProvider({ models = ['qwen3-32b'], tls }: FakeProviderOptions = {}) {
  const { privateKey } = generateKeyPairSync('ed25519');
  const publicKey = publicKeyOf(privateKey);
  const id = providerIdOf(publicKey);
  const calls: ProviderCall[] = [];
  const waiting: (() => void)[] = [];
  let said: Readonly<Record<string, unknown>> = {};
  const healthy: Answer = ({ res, query }) => {
    const signature = signHealth(privateKey, query.get('nonce') ?? '', id);
    sendJson(res, 200, { status: 'ok', id, signature, ...said });
  };
  const routes = new Map<string, Answer>([
    ['/health', healthy],
    [
      '/v1/models',
      ({ res }) =>
        sendJson(res, 200, { object: 'list', data: models.map((model) => ({ id: model })) }),
    ],
    [
      '/v1/chat/completions',
      ({ res }) => sendJson(res, 200, { choices: [{ index: 0, message: { content: 'OK' } }] }),
    ],
  ]);
  const listener: RequestListener = (req, res) => {
    const parts: Buffer[] = [];
    req.on('data', (part: Buffer) => parts.push(part));
    req.on('end', () => {
      const url = new URL(req.url ?? '/', 'http://x');
      const host = (req.headers.host ?? '').replace(/:\d+$/, '');
      const { headers, socket, method = '' } = req;
      const body = Buffer.concat(parts).toString();
      const { pathname: path, searchParams: query } = url;
      const call = { method, host, path, query, headers, body, socket, res };
      calls.push(call);
      (routes.get(`${host}${path}`) ?? routes.get(path))?.(call);
      for (const wake of waiting.splice(0)) wake();
    });
  };
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections += 1;
    socket.on('error', () => {});
  });
  const port = await listening(server);
  return {
    port,
    id,
    publicKey,
    calls: calls as readonly ProviderCall[],
    /** Answers `/health` as it should be. */
    healthy,
    /** Puts more into what `/health` says. */
    says(more: Readonly<Record<string, unknown>>) {
      said = more;
    },
    /** Connections that were made. */
    connections: () => connections,
    /** Scripts a route, for one name by which it is asked or for all. */
    on: (path: string, answer: Answer, host = '') => void routes.set(host + path, answer),
    /** Resolves with the n-th call of a path, from 1. */
    async call(path: string, n = 1) {
      for (;;) {
        const found = calls.filter((one) => one.path === path)[n - 1];
        if (found !== undefined) return found;
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
    },
  };
}

function sendJson(res: ServerResponse, status: number, value: unknown): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

/** Answers with a status and JSON. */
export const json =
  (status: number, value: unknown, headers: Record<string, string> = {}): Answer =>
  ({ res }) => {
    for (const [name, text] of Object.entries(headers)) res.setHeader(name, text);
    sendJson(res, status, value);
  };

/** Answers with bytes that need not be HTTP, and leaves the connection open. */
export const bytes =
  (text: string): Answer =>
  ({ socket }) =>
    void socket.write(text);

/** Never answers. */
export const silence: Answer = () => {};

/** Closes the connection without an answer. */
export const hangUp: Answer = ({ socket }) => void socket.destroy();

/** The token that the gateway shows these providers. */
export const GATEWAY_TOKEN = 'f'.repeat(64);

/** A fake provider as the registry knows it: heard of over loopback, with all four candidates at its port. */
export function subjectOf(
  { id, publicKey, port }: Pick<FakeProvider, 'id' | 'publicKey' | 'port'>,
  changes: Partial<VerificationSubject> = {},
): VerificationSubject {
  return {
    id,
    key: parsePublicKey(publicKey) ?? expect.fail(),
    gatewayToken: GATEWAY_TOKEN,
    record: recordAt(port),
    lastHeartbeatIp: '127.0.0.1',
    isOwn: false,
    isReachable: true,
    verification: UNVERIFIED,
    materialChanges: 1,
    ...changes,
  };
}

/** The record of a machine whose agent listens on a port. */
export function recordAt(port: number, changes: Partial<AgentRecord> = {}): AgentRecord {
  const record = recordOf({ agent_url: `http://agent.test:${port}` });
  const host = { ...record.host, hostname: 'tower.test', tailnet_hostname: 'tower.tail.test' };
  return { ...record, host, ...changes };
}

/** The same, of whose candidates the agent URL alone leads anywhere. */
export function aloneAt(
  provider: Pick<FakeProvider, 'id' | 'publicKey' | 'port'>,
  agent_url = `http://agent.test:${provider.port}`,
): VerificationSubject {
  const record = recordAt(provider.port, { agent_url });
  const host = { ...record.host, hostname: '', tailnet_hostname: null };
  return subjectOf(provider, { record: { ...record, host } });
}

/** What a run of a fake provider needs; every name leads to this machine unless `names` says otherwise. */
export function edgesFor(
  { port }: Pick<FakeProvider, 'port'>,
  clock: Clock,
  names: Readonly<Record<string, readonly string[]>> = {},
): RunEdges {
  const http = createHttpClient();
  onTestFinished(() => http.close());
  return {
    http,
    clock,
    lookup: (name) => Promise.resolve(names[name] ?? ['127.0.0.1']),
    newNonce: newSecret,
    rules: { ports: [port], hostPort: port, ownPorts: () => [] },
  };
}

/** The names of the candidates of `subjectOf`, in order of preference. */
export const CANDIDATE_HOSTS = [
  'agent.test',
  'tower.tail.test',
  'tower.test',
  '127.0.0.1',
] as const;

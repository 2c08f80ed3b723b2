import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AgentListener } from '#shared/agent.ts';
import type { AgentRecord } from '#shared/provider.ts';
import type { Config } from '../../config/schema.ts';
import { signHealth } from '../../platform/agent-identity.ts';
import { createTurns } from '../../platform/async.ts';
import { type Clock, sleep } from '../../platform/clock.ts';
import { nameOf } from '../../platform/errors.ts';
import { createGuardedServer } from '../../platform/http/guarded-server.ts';
import { sendJson, SHORT_REST_BYTES } from '../../platform/http/responses.ts';
import { isLoopbackHost, listen } from '../../platform/http/addresses.ts';
import { bareHost, canonicalIp, isLoopback } from '../../platform/network-guard.ts';
import { digestOf, isSecretShaped } from '../../platform/secrets.ts';
import type { EngineView } from '../../engines/adapters/engine-view.ts';
import type { AgentContext } from '../context.ts';
import type { AgentIdentity } from '../storage.ts';
import { type AgentError, sendError } from './errors.ts';
import { FORM_PATH, type Inference } from './inference.ts';

type AgentAddress = Pick<Config['agent'], 'host' | 'ports'>;

interface AgentServerParts {
  readonly access: AccessRules;
  readonly inference: Inference;
  readonly health: () => HealthFacts;
  /** The listeners have. */
  readonly changed: () => void;
}

const POSTS = new Set([
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/embeddings',
  '/v1/rerank',
  '/v1/responses',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/audio/speech',
  FORM_PATH,
]);

/** Linux may briefly use one of the default ports for an outgoing connection. */
const RETRY_MS = 5000;

/** An HTTP server that can be moved to other addresses while requests run; taken ports are tried again. */
export function createAgentServer(context: AgentContext, parts: AgentServerParts) {
  const { clock, log } = context;
  let listeners: readonly AgentListener[] = [];
  /** Ends the listening at the present address. */
  let lifetime = new AbortController();
  /** Those that no longer listen but still have running requests, too. */
  const servers = new Set<Server>();
  /** A port of the former address is free only once it has been bound and released. */
  const inTurn = createTurns();

  async function bind(host: string, port: number, signal: AbortSignal): Promise<AgentListener> {
    const server = httpServer(context, parts);
    const result = await listen(server, host, port);
    if (result.kind === 'failed') return { kind: 'failed', port, message: result.message };
    servers.add(server);
    server.on('close', () => servers.delete(server));
    if (signal.aborted) server.close();
    else signal.addEventListener('abort', () => server.close());
    return { kind: 'listening', port: result.port };
  }

  async function retryFailed(host: string, signal: AbortSignal): Promise<void> {
    while (listeners.some(isFailed) && (await sleep(clock, RETRY_MS, signal))) {
      const now: AgentListener[] = [];
      for (const each of listeners)
        now.push(isFailed(each) ? await bind(host, each.port, signal) : each);
      if (signal.aborted) return;
      const waiting = now.filter(isFailed).length;
      const hasBound = waiting < listeners.filter(isFailed).length;
      listeners = now;
      if (!hasBound) continue;
      log('info', 'agent_port_bound', { waiting });
      parts.changed();
    }
  }

  async function listenAt({ host: name, ports }: AgentAddress): Promise<void> {
    lifetime.abort();
    lifetime = new AbortController();
    const { signal } = lifetime;
    const host = bareHost(name);
    const bound: AgentListener[] = [];
    for (const [index, port] of ports.entries()) {
      const isRepeated = port !== 0 && ports.indexOf(port) < index;
      if (!isRepeated) bound.push(await bind(host, port, signal));
    }
    for (const each of bound)
      if (isFailed(each)) log('warn', 'agent_port', { port: each.port, why: each.message });
    listeners = bound;
    void retryFailed(host, signal);
    parts.changed();
  }

  return {
    listeners: () => listeners,
    /** Those that are bound. */
    ports: () => listeners.filter((each) => !isFailed(each)).map(({ port }) => port),
    /** Replaces the address; a port that cannot be bound does not affect the others. */
    listen: (address: AgentAddress) => inTurn(() => listenAt(address)),
    /** Stops listening; cuts off requests that are still running after `graceMs`. */
    async close(graceMs: number) {
      lifetime.abort();
      const cancelGrace = clock.after(graceMs, () => {
        for (const server of servers) server.closeAllConnections();
      });
      // It may still be moving to another address.
      await inTurn(() => Promise.resolve(lifetime.abort()));
      await Promise.all([...servers].map((server) => once(server, 'close')));
      cancelGrace();
    },
  };
}

const isFailed = (port: AgentListener) => port.kind === 'failed';

function httpServer({ clock, log }: AgentContext, parts: AgentServerParts): Server {
  return createGuardedServer((req, res) => {
    answer(req, res, parts, clock).catch((error: unknown) => {
      log('error', 'agent_bug', { error: nameOf(error) });
      if (res.headersSent) res.destroy();
      else sendError(res, INTERNAL);
    });
  }, clock);
}

const INTERNAL: AgentError = {
  status: 500,
  code: 'internal_error',
  message: 'Something went wrong in the agent; see its log.',
};

/** Access is checked first, so that strangers learn nothing about routes. */
async function answer(
  req: IncomingMessage,
  res: ServerResponse,
  { access: rules, inference, health }: AgentServerParts,
  clock: Clock,
): Promise<void> {
  const access = accessOf(req, rules);
  const url = req.url ?? '';
  const [path = ''] = url.split('?', 1);
  const nonce = new URLSearchParams(url.slice(path.length)).get('nonce');
  const isProof = access.kind === 'stranger' && path === '/health' && nonce !== null;
  const isAllowed = access.kind === 'allowed' || (isProof && req.method === 'GET');
  const problem = isAllowed ? problemOf(req, path) : access.error;
  if (problem !== null) sendError(res, problem, { clock, maxRestBytes: SHORT_REST_BYTES });
  else if (path === '/v1/models') await inference.models(req, res);
  else if (path !== '/health') await inference.post(req, res, path);
  else {
    const body = healthBody(health(), nonce);
    if (body === null) sendError(res, BAD_NONCE);
    else sendJson(res, 200, isProof ? proofIn(body) : body);
  }
}

function problemOf({ method }: IncomingMessage, path: string): AgentError | null {
  const allowed = path === '/health' || path === '/v1/models' ? 'GET' : 'POST';
  if (allowed === 'POST' && !POSTS.has(path)) {
    const message = `There is no route "${path.slice(0, 100)}"; the agent serves /health, /v1/models, ${[...POSTS].join(', ')}.`;
    return { status: 404, code: 'not_found', message };
  }
  if (method === allowed) return null;
  const message = `This route accepts ${allowed} only.`;
  return { status: 405, code: 'method_not_allowed', message, headers: { allow: allowed } };
}

const BAD_NONCE: AgentError = {
  status: 400,
  code: 'invalid_request',
  message: 'nonce must be 1 to 128 hexadecimal digits.',
};

interface AccessRules {
  /** Names of this machine, besides loopback names and the local address of the connection. */
  readonly hostNames: () => readonly string[];
  /** Digests of the tokens that gateways may send. */
  readonly tokenDigests: () => readonly string[];
}

/** Requests with these headers came from another machine, through a proxy on this one. */
const PROXY_HEADERS = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'];

/** Tells a gateway that its token was refused, not its caller's API key. */
const REFUSED_BY_AGENT = { 'x-gateway-agent': 'unauthorized' };

/** A `stranger` may only ask for a proof of this agent's identity. */
type CallerAccess =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'stranger' | 'refused'; readonly error: AgentError };

/**
 * Refuses a foreign `Host` (DNS rebinding), browser pages and a wrong token. Other machines without a token are
 * strangers: a gateway sends its token only after the agent has proved its key.
 */
function accessOf(req: IncomingMessage, rules: AccessRules): CallerAccess {
  const error = foreignSender(req, rules);
  if (error !== null) return { kind: 'refused', error };
  if (isAuthorized(req, rules)) return { kind: 'allowed' };
  const hasToken = req.headers['x-gateway-token'] !== undefined;
  return { kind: hasToken ? 'refused' : 'stranger', error: UNAUTHORIZED };
}

function foreignSender(req: IncomingMessage, rules: AccessRules): AgentError | null {
  const { host = '', 'x-gateway-token': token } = req.headers;
  const refused = { status: 403, headers: REFUSED_BY_AGENT } as const;
  const localAddress = canonicalIp(req.socket.localAddress ?? '') ?? '';
  if (!isHostAllowed(host, localAddress, token !== undefined, rules)) {
    const message = `The Host "${host.slice(0, 100)}" is not a name of this machine. Use its address, or add the name to gateway.allowedHosts (INGLENOOK_ALLOWED_HOSTS) here.`;
    return { ...refused, code: 'host_not_allowed', message };
  }
  if (req.headers.origin !== undefined || BY_OTHER_PAGE.test(`${req.headers['sec-fetch-site']}`)) {
    const message = "Web pages may not call a machine's agent; call the gateway instead.";
    return { ...refused, code: 'origin_not_allowed', message };
  }
  return null;
}

const UNAUTHORIZED: AgentError = {
  status: 401,
  code: 'unauthorized',
  message:
    'This agent serves the gateway that it is enrolled with, and programs on its own machine. A gateway sends its token as X-Gateway-Token; if yours does, join this machine to it again.',
  headers: REFUSED_BY_AGENT,
};

/** A page of another site, or of another port of this machine. */
const BY_OTHER_PAGE = /^(cross|same)-site$/;

function isHostAllowed(
  host: string,
  local: string,
  hasToken: boolean,
  { hostNames }: AccessRules,
): boolean {
  const name = host.replace(/:\d*$/, '').toLowerCase();
  if (isLoopbackHost(name)) return true;
  if (local !== '' && (name === local || name === `[${local}]`)) return true;
  // On loopback, where no token is needed, a name that another machine could claim is not enough.
  if (isLoopback(local) && !hasToken) return false;
  return hostNames().some((known) => known.toLowerCase() === name || `[${known}]` === name);
}

function isAuthorized(
  { headers, socket }: IncomingMessage,
  { tokenDigests }: AccessRules,
): boolean {
  const token = headers['x-gateway-token'];
  if (token === undefined) {
    const isForwarded = PROXY_HEADERS.some((name) => headers[name] !== undefined);
    return !isForwarded && isLoopback(canonicalIp(socket.remoteAddress ?? '') ?? '');
  }
  // A wrong token is refused on loopback too: the gateway must learn that the agent has to enrol again.
  return (
    typeof token === 'string' && isSecretShaped(token) && tokenDigests().includes(digestOf(token))
  );
}

interface HealthFacts {
  readonly identity: AgentIdentity;
  readonly engine: EngineView | null;
  readonly record: AgentRecord;
}

/** The proof of the agent's identity: no more than a gateway needs before it sends its token. */
function proofIn({ status, id, signature, model }: HealthBody) {
  // The name of a loaded model is not disclosed.
  return { status, id, signature, ...(model === null ? { model } : {}) };
}

type HealthBody = NonNullable<ReturnType<typeof healthBody>>;

/** Signs `nonce`, which is null if the request has none. Returns null for a malformed nonce. */
function healthBody({ identity, engine, record }: HealthFacts, nonce: string | null) {
  const { id, privateKey } = identity;
  const signature = nonce === null ? null : signHealth(privateKey, nonce, id);
  if (nonce !== null && signature === null) return null;
  return {
    // The agent's own status: `ok` whenever it answers, unless a model is still loading.
    status: record.engine_health.status === 'loading' ? 'loading' : 'ok',
    engine_health: record.engine_health,
    model: loadedModel(engine, record),
    gpu_count: record.gpu.count,
    agent_version: record.agent_version,
    uptime_s: record.uptime_s,
    id,
    signature: signature ?? undefined,
  };
}

/** Null if none is loaded, because the registry's test inference would otherwise load one. */
function loadedModel(engine: EngineView | null, { current_model }: AgentRecord): string | null {
  if (engine === null || engine.loaded?.length === 0) return null;
  return current_model;
}

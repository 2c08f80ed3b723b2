import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Clock } from '../../platform/clock.ts';
import { nameOf } from '../../platform/errors.ts';
import { createGuardedServer, markProved } from '../../platform/http/guarded-server.ts';
import { sendJson } from '../../platform/http/responses.ts';
import { listen } from '../../platform/http/server.ts';
import type { Log } from '../../platform/log.ts';
import { type CallerAccess, accessOf, type AccessRules } from './auth.ts';
import { type AgentError, MAX_REST_BYTES, sendError, sendErrorEarly } from './errors.ts';
import { FORM_PATH, type Inference } from './inference.ts';

export interface AgentAddress {
  readonly host: string;
  readonly ports: readonly number[];
}

export type AgentPort =
  | { readonly kind: 'listening'; readonly port: number }
  /** `message` says why, and what the owner can do. */
  | { readonly kind: 'failed'; readonly port: number; readonly message: string };

export interface AgentServerDeps {
  readonly access: AccessRules;
  readonly inference: Inference;
  readonly health: HealthBodies;
  readonly clock: Clock;
  readonly log: Log;
}

/** Bodies of `/health`; null for a malformed `nonce`. */
export interface HealthBodies {
  readonly full: (nonce: string | null) => Readonly<Record<string, unknown>> | null;
  /** For callers without a token. */
  readonly proof: (nonce: string) => Readonly<Record<string, unknown>> | null;
}

/** An HTTP server that can be moved to other addresses while requests run. */
export interface AgentServer {
  /** Replaces the address; a port that cannot be bound does not affect the others. */
  listen(address: AgentAddress): Promise<readonly AgentPort[]>;
  /** Retries the ports that could not be bound. */
  retry(): Promise<readonly AgentPort[]>;
  /** Stops listening; cuts off requests that are still running after `graceMs`. */
  close(graceMs: number): Promise<void>;
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

export function createAgentServer(deps: AgentServerDeps): AgentServer {
  let host = '';
  let slots: readonly Slot[] = [];
  /** Servers that no longer listen but still have running requests. */
  const closing = new Map<Server, Promise<void>>();

  async function bindOne(port: number): Promise<Slot> {
    const server = httpServer(deps);
    const result = await listen(server, host, port);
    if (result.kind === 'listening')
      return { server, port: { kind: 'listening', port: result.port } };
    return { server, port: { kind: 'failed', port, message: result.message } };
  }

  const portsOf = (all: readonly Slot[]) => all.map(({ port }) => port);

  /** Stops listening; running requests continue. */
  function release(server: Server): void {
    const closed = new Promise<void>((resolve) => {
      server.close(() => {
        closing.delete(server);
        resolve();
      });
    });
    closing.set(server, closed);
  }

  function releaseAll(): void {
    for (const { server, port } of slots) if (port.kind === 'listening') release(server);
    slots = [];
  }

  return {
    async listen(address) {
      releaseAll();
      host = address.host.replace(/^\[(.*)\]$/, '$1');
      const { ports } = address;
      const bound: Slot[] = [];
      for (const [index, port] of ports.entries()) {
        const isRepeated = port !== 0 && ports.indexOf(port) < index;
        if (!isRepeated) bound.push(await bindOne(port));
      }
      slots = bound;
      return portsOf(slots);
    },
    async retry() {
      const before = slots;
      const bound: Slot[] = [];
      for (const slot of before) {
        bound.push(slot.port.kind === 'listening' ? slot : await bindOne(slot.port.port));
      }
      if (slots === before) slots = bound;
      else {
        // The server was moved or closed in the meantime.
        const late = bound.filter((slot) => !before.includes(slot));
        for (const { server, port } of late) if (port.kind === 'listening') release(server);
      }
      return portsOf(slots);
    },
    async close(graceMs) {
      releaseAll();
      const cancelGrace = deps.clock.after(graceMs, () => {
        for (const server of closing.keys()) server.closeAllConnections();
      });
      await Promise.all(closing.values());
      cancelGrace();
    },
  };
}

interface Slot {
  readonly server: Server;
  readonly port: AgentPort;
}

function httpServer(deps: AgentServerDeps): Server {
  return createGuardedServer((req, res) => {
    answer(req, res, deps).catch((error: unknown) => {
      deps.log('error', 'agent_bug', { error: nameOf(error) });
      if (res.headersSent) res.destroy();
      else sendError(res, INTERNAL);
    });
  }, deps.clock);
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
  deps: AgentServerDeps,
): Promise<void> {
  const { inference, health, clock } = deps;
  const access = accessOf(req, deps.access);
  if (access.kind === 'allowed') markProved(req.socket);
  const [path, query] = splitOnce(req.url ?? '', '?');
  const nonce = new URLSearchParams(query).get('nonce');
  if (access.kind === 'stranger' && req.method === 'GET' && path === '/health' && nonce !== null) {
    sendHealth(res, health.proof(nonce));
    return;
  }
  const problem = problemOf(req, path, access);
  if (problem !== null) sendErrorEarly(req, res, problem, { clock, maxRestBytes: MAX_REST_BYTES });
  else if (path === '/health') sendHealth(res, health.full(nonce));
  else if (path === '/v1/models') await inference.models(req, res);
  else await inference.post(req, res, path);
}

function problemOf(req: IncomingMessage, path: string, access: CallerAccess): AgentError | null {
  if (access.kind !== 'allowed') return access.error;
  const method = methodOf(path);
  return method === null ? notFound(path) : wrongMethod(req, method);
}

function methodOf(path: string): 'GET' | 'POST' | null {
  if (path === '/health' || path === '/v1/models') return 'GET';
  return POSTS.has(path) ? 'POST' : null;
}

function sendHealth(res: ServerResponse, body: Readonly<Record<string, unknown>> | null): void {
  if (body === null) {
    const message = 'nonce must be 1 to 128 hexadecimal digits.';
    sendError(res, { status: 400, code: 'invalid_request', message });
    return;
  }
  sendJson(res, 200, body);
}

function wrongMethod({ method }: IncomingMessage, allowed: string): AgentError | null {
  if (method === allowed) return null;
  const message = `This route accepts ${allowed} only.`;
  return { status: 405, code: 'method_not_allowed', message, headers: { allow: allowed } };
}

function notFound(path: string): AgentError {
  const message = `There is no route "${path.slice(0, 100)}"; the agent serves /health, /v1/models, ${[...POSTS].join(', ')}.`;
  return { status: 404, code: 'not_found', message };
}

function splitOnce(text: string, mark: string): readonly [string, string] {
  const at = text.indexOf(mark);
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

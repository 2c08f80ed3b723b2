import {
  type BodyRequest,
  fetchBody,
  type FetchEdges,
  type FetchResult,
} from '../../platform/http/fetch-body.ts';
import { listOf, memberOf, parseJson, textOf } from '../../platform/json.ts';
import type { EngineHealth } from './engine-view.ts';

export interface EngineAddress {
  /** As in `http://127.0.0.1:8000`. */
  readonly origin: string;
  /** Path before `/v1`; usually empty. */
  readonly basePath: string;
  /** Value of the `Authorization` header; null for none. */
  readonly authorization: string | null;
}

export interface EngineAnswer {
  /** 0 without an answer. */
  readonly status: number;
  /** Something listens there, but has not answered within a second. */
  readonly isLate: boolean;
  readonly server: string;
  readonly text: string;
  /** Null if the body is not JSON. */
  readonly json: unknown;
}

/** Asks one engine. */
export interface Ask {
  /** A GET; each path is requested once per round. */
  (path: string): Promise<EngineAnswer>;
  /** A POST that changes nothing at the engine, asked once and remembered for the `version` of what it is about. */
  readonly once: (path: string, body: unknown, version: string) => Promise<EngineAnswer>;
}

/** Answers that stay true from round to round. */
export type EngineMemory = Map<string, Promise<EngineAnswer>>;

export interface AskEdges extends FetchEdges {
  readonly memory: EngineMemory;
}

export interface EngineRequest extends Pick<
  BodyRequest,
  'path' | 'method' | 'timeoutMs' | 'maxBytes'
> {
  /** Sent as JSON; left out of a GET. */
  readonly json?: unknown;
  /** Names and values in turn. */
  readonly headers?: readonly string[];
}

/** Sends a request to an engine with the key that it needs. Never rejects. */
export function fetchFrom(
  { origin, basePath, authorization }: EngineAddress,
  { path, json, headers = [], ...rest }: EngineRequest,
  edges: FetchEdges,
): Promise<FetchResult> {
  const credentials = authorization === null ? [] : ['authorization', authorization];
  const body = json === undefined ? {} : { json: Buffer.from(JSON.stringify(json)) };
  const all = [...credentials, ...headers];
  return fetchBody({ ...rest, ...body, origin, path: basePath + path, headers: all }, edges);
}

const HEADERS = ['accept', 'application/json, text/plain'];
const TIMEOUT_MS = 1000;
/** A large vLLM's metrics are some 300 kB. */
const MAX_BYTES = 2 * 1024 * 1024;

/** More models than any owner has. */
const MAX_REMEMBERED = 2048;

/** For one round of readings, of which some are `known` already. Sends GETs, and by `once` what is known to load no model. */
export function createAsk(
  address: EngineAddress,
  edges: AskEdges,
  known: Iterable<readonly [path: string, FetchResult]> = [],
) {
  const answers = new Map<string, Promise<EngineAnswer>>();
  for (const [path, result] of known) answers.set(path, Promise.resolve(answerOf(result)));
  let isExhausted = false;

  async function fetchAnswer(path: string, json?: unknown): Promise<EngineAnswer> {
    const limits = { timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES };
    const result = await fetchFrom(address, { path, json, headers: HEADERS, ...limits }, edges);
    if (result.kind === 'exhausted') isExhausted = true;
    return answerOf(result);
  }

  function ask(path: string): Promise<EngineAnswer> {
    const asked = answers.get(path) ?? fetchAnswer(path);
    answers.set(path, asked);
    return asked;
  }

  function once(path: string, json: unknown, version: string): Promise<EngineAnswer> {
    const key = [address.origin, address.basePath, path, JSON.stringify(json), version].join(' ');
    const { memory } = edges;
    const remembered = memory.get(key);
    if (remembered !== undefined) return remembered;
    if (memory.size >= MAX_REMEMBERED) memory.clear();
    const asked = fetchAnswer(path, json).then((answer) => {
      if (!isOk(answer)) memory.delete(key);
      return answer;
    });
    memory.set(key, asked);
    return asked;
  }

  return {
    ask: Object.assign(ask, { once }),
    /** Whether a request could not be sent because this process has no file descriptor left. */
    isExhausted: () => isExhausted,
  };
}

function answerOf(result: FetchResult): EngineAnswer {
  if (result.kind !== 'response') return { ...NO_ANSWER, isLate: result.kind === 'timed_out' };
  const text = result.body.toString('utf8');
  const server = result.headers['server'];
  return {
    status: result.status,
    isLate: false,
    server: typeof server === 'string' ? server : '',
    text,
    json: parseJson(text) ?? null,
  };
}

const NO_ANSWER: EngineAnswer = { status: 0, isLate: false, server: '', text: '', json: null };

export function isOk({ status }: EngineAnswer): boolean {
  return status >= 200 && status < 300;
}

export function healthOf(answer: EngineAnswer): EngineHealth {
  const code = answer.status;
  if (code === 0) return { status: answer.isLate ? 'unresponsive' : 'unreachable', code };
  if (isOk(answer)) return { status: 'ok', code };
  if (code === 401 || code === 403) return { status: 'unauthorized', code };
  // llama.cpp explains its 503; SGLang and TGI answer a bare one while they start.
  return { status: code === 503 ? 'loading' : 'error', code };
}

/** One entry of an OpenAI model list, with what engines add to it. */
export interface EngineModel {
  readonly id: string;
  readonly ownedBy: string;
  /** vLLM: the model's hub id or path. */
  readonly root: string | null;
  readonly entry: unknown;
}

/** Limits of the registry for one machine. */
const MAX_MODELS = 512;
const MAX_ID_CHARS = 1024;

/** Null if the answer is not a model list. */
export function modelList(answer: EngineAnswer): readonly EngineModel[] | null {
  if (!isOk(answer)) return null;
  const data = memberOf(answer.json, 'data');
  if (!Array.isArray(data)) return null;
  return listOf(data)
    .slice(0, MAX_MODELS)
    .flatMap((entry) => {
      const id = textOf(memberOf(entry, 'id'));
      if (id === null || id.length > MAX_ID_CHARS) return [];
      const ownedBy = textOf(memberOf(entry, 'owned_by')) ?? '';
      return [{ id, ownedBy, root: textOf(memberOf(entry, 'root')), entry }];
    });
}

/** Ids of a list in an engine's own format, each under the path `key`. */
export function idsIn(list: unknown, ...key: readonly string[]): readonly string[] {
  return listOf(list)
    .slice(0, MAX_MODELS)
    .map((entry) => textOf(memberOf(entry, ...key)))
    .filter((id) => id !== null)
    .filter((id) => id.length <= MAX_ID_CHARS);
}

export function idsOf(models: readonly EngineModel[] | null): readonly string[] {
  return (models ?? []).map(({ id }) => id);
}

const HUB_ID = /^[\w.-]+\/[\w.-]+(:[\w.-]+)?$/;
/** The hub takes names of 96 characters. */
const HUB_CACHE = /(?:^|[/\\])models--([\w.-]{1,96}?)--([\w.-]{1,96})(?:[/\\]|$)/;

/**
 * The part of a model's location that may be shown. Paths reveal something about a machine and its owner, so only the
 * last part of a path is kept, or the hub id if the path is in the hub's cache.
 */
export function shownLocation(location: string): string | null {
  const [, owner, name] = HUB_CACHE.exec(location) ?? [];
  if (owner !== undefined && name !== undefined) return `${owner}/${name}`;
  const isFile = /\.(gguf|safetensors|bin|llamafile)$/i.test(location);
  if (HUB_ID.test(location) && !isFile && !/^\.{1,2}\//.test(location)) return location;
  const parts = location.split(/[/\\]/).filter((part) => part !== '');
  return parts.at(-1) ?? null;
}

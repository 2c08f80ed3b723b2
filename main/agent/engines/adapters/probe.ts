import type { Clock } from '../../../platform/clock.ts';
import { get } from '../../../platform/http/fetch-body.ts';
import type { HttpClient } from '../../../platform/http/types.ts';
import { parseJson } from '../../../platform/json.ts';
import type { EngineHealth } from './engine-view.ts';

/** Where an engine may be. */
export interface EngineAddress {
  /** As in `http://127.0.0.1:8000`. */
  readonly origin: string;
  /** What comes before `/v1`; mostly nothing. */
  readonly basePath: string;
  /** The value of the `Authorization` header; null for none. */
  readonly authorization: string | null;
}

/** The answer to a GET. */
export interface EngineAnswer {
  /** 0 where there was none. */
  readonly status: number;
  /** Something listens there, but it took longer than a second. */
  readonly isLate: boolean;
  readonly server: string;
  readonly text: string;
  /** The body as JSON; null when it is none. */
  readonly json: unknown;
}

/** Asks one engine by GET; within a round the same question is asked once. */
export type Ask = (path: string) => Promise<EngineAnswer>;

/** What asking takes. */
export interface AskEdges {
  readonly http: HttpClient;
  readonly clock: Clock;
}

const TIMEOUT_MS = 1000;
/** The metrics of a large vLLM are some 300 kB. */
const MAX_BYTES = 2 * 1024 * 1024;

/** Makes the asker of one round. Never anything but GET: a POST may load a model. */
export function createAsk(address: EngineAddress, { http, clock }: AskEdges): Ask {
  const answers = new Map<string, Promise<EngineAnswer>>();
  const headers = ['accept', 'application/json, text/plain'];
  if (address.authorization !== null) headers.push('authorization', address.authorization);

  async function fetchAnswer(path: string): Promise<EngineAnswer> {
    let isLate = false;
    const result = await get(
      {
        origin: address.origin,
        path: address.basePath + path,
        headers,
        timeoutMs: TIMEOUT_MS,
        maxBytes: MAX_BYTES,
      },
      http,
      noticingTimeout(clock, () => (isLate = true)),
    );
    if (result.kind === 'failed') return { ...NO_ANSWER, isLate };
    const text = result.body.toString('utf8');
    const server = result.headers['server'];
    return {
      status: result.status,
      isLate: false,
      server: typeof server === 'string' ? server : '',
      text,
      json: parseJson(text),
    };
  }

  return (path) => {
    const asked = answers.get(path) ?? fetchAnswer(path);
    answers.set(path, asked);
    return asked;
  };
}

/** A clock that tells when one of its timers ran out: a failed `get` does not say that it timed out. */
function noticingTimeout(clock: Clock, onTimeout: () => void): Clock {
  return {
    now: () => clock.now(),
    ticks: () => clock.ticks(),
    after: (ms, fn) =>
      clock.after(ms, () => {
        onTimeout();
        fn();
      }),
  };
}

const NO_ANSWER: EngineAnswer = { status: 0, isLate: false, server: '', text: '', json: null };

/** Whether an answer is a 2xx. */
export function isOk({ status }: EngineAnswer): boolean {
  return status >= 200 && status < 300;
}

/** Health by the status of an answer. */
export function healthOf(answer: EngineAnswer): EngineHealth {
  const code = answer.status;
  if (code === 0) return { status: 'unreachable', code };
  if (isOk(answer)) return { status: 'ok', code };
  if (code === 401 || code === 403) return { status: 'unauthorized', code };
  // llama.cpp says so; SGLang and TGI answer a bare 503 while they start.
  return { status: code === 503 ? 'loading' : 'error', code };
}

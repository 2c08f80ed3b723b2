import type { UpstreamId } from '#shared/ids.ts';
import { error, json, type Script } from '../support/upstream.ts';

/** An error status of one upstream, and what it means: the rows of the outcome table. */
export interface StatusRow {
  readonly says: string;
  readonly script: Script;
  /** Upstreams for which the row holds; `ondemand` is asked last, so it never falls back. */
  readonly of: readonly UpstreamId[];
  readonly reason: string;
  /** Description in the message of the last word. */
  readonly described?: string;
  /** Status and code of the last word. */
  readonly word: readonly [number, string];
  readonly retryAfter?: string;
  /** How often the upstream is asked; twice where it is retried first. */
  readonly calls?: number;
}

const EVERYWHERE = ['local', 'hosted_a', 'ondemand'] as const;
/** For `ondemand` the same status says that it is starting. */
const NOT_ONDEMAND = ['local', 'hosted_a'] as const;

const html = (status: number, text: string): Script => {
  return ({ res }) => {
    res.writeHead(status, { 'content-type': 'text/html' });
    res.end(`<!DOCTYPE html><html><body>${text}</body></html>`);
  };
};

function broken(status: number, of: StatusRow['of'], calls = 1): StatusRow {
  const reason = `http_${status}`;
  const word = [502, 'upstream_error'] as const;
  return { says: String(status), script: error(status), of, reason, word, calls };
}

function misconfigured(says: string, status: number, script: Script): StatusRow {
  const word = [502, 'upstream_misconfigured'] as const;
  return { says, script, of: EVERYWHERE, reason: `http_${status}`, word };
}

function ofReason(
  reason: string,
  word: StatusRow['word'],
  rows: readonly (readonly [says: string, status: number, script: Script])[],
): StatusRow[] {
  return rows.map(([says, status, script]) => ({
    says,
    script,
    of: EVERYWHERE,
    reason,
    described: `${reason} (HTTP ${status})`,
    word,
  }));
}

const redirect = (status: number): Script =>
  json(status, '', { location: 'http://127.0.0.1:9/chat/completions' });

/** Statuses after which the next upstream is asked. */
export const STATUS_ROWS: readonly StatusRow[] = [
  broken(500, EVERYWHERE, 2),
  broken(502, NOT_ONDEMAND, 2),
  broken(504, NOT_ONDEMAND),
  ...[501, 520, 521, 522, 523, 524, 525, 526, 527, 528, 529].map((status) =>
    broken(status, EVERYWHERE),
  ),
  {
    says: '503',
    script: error(503),
    of: NOT_ONDEMAND,
    reason: 'http_503',
    word: [503, 'upstream_unavailable'],
  },
  {
    says: '503 with Retry-After',
    script: error(503, 'no', null, { 'retry-after': '7' }),
    of: NOT_ONDEMAND,
    reason: 'http_503',
    word: [503, 'upstream_unavailable'],
    retryAfter: '7',
  },
  {
    says: '503 that says busy, from a hosted upstream',
    script: error(503, 'server busy, please try again'),
    of: ['hosted_a'],
    reason: 'http_503',
    word: [503, 'upstream_unavailable'],
  },
  {
    says: '429',
    script: error(429),
    of: EVERYWHERE,
    reason: 'rate_limited',
    described: 'rate_limited (HTTP 429)',
    word: [429, 'upstream_rate_limited'],
    retryAfter: '15',
  },
  {
    says: '429 with a long Retry-After',
    script: error(429, 'no', 'rate_limit_exceeded', { 'retry-after': '30' }),
    of: EVERYWHERE,
    reason: 'rate_limited',
    described: 'rate_limited (HTTP 429)',
    word: [429, 'upstream_rate_limited'],
    retryAfter: '30',
  },
  {
    says: '429 that says busy, from a hosted upstream',
    script: error(429, 'The server is overloaded'),
    of: ['hosted_a'],
    reason: 'rate_limited',
    described: 'rate_limited (HTTP 429)',
    word: [429, 'upstream_rate_limited'],
    retryAfter: '15',
  },
  ...ofReason(
    'quota',
    [502, 'upstream_quota'],
    [
      ['402', 402, error(402)],
      [
        '429 for insufficient_quota',
        429,
        error(429, 'You exceeded your quota', 'insufficient_quota'),
      ],
      [
        '403 of type insufficient_quota',
        403,
        json(403, { error: { message: 'no', type: 'insufficient_quota', code: null } }),
      ],
    ],
  ),
  ...ofReason(
    'model_not_found',
    [404, 'model_not_found'],
    [
      ['404 with code model_not_found', 404, error(404, 'no such thing', 'model_not_found')],
      ['404 in Ollama words', 404, json(404, { error: 'model "qwen" not found, try pulling it' })],
      [
        '404 in vLLM words',
        404,
        json(404, { object: 'error', message: 'The model `x` does not exist.', code: 404 }),
      ],
      ['410 about the model', 410, error(410, 'This model was retired')],
      [
        '400 in the words of llama.cpp’s router',
        400,
        json(400, { error: { code: 400, message: "model 'gamma' not found", type: 'x' } }),
      ],
    ],
  ),
  misconfigured('404 about something else', 404, error(404, 'Not Found')),
  misconfigured(
    '404 page whose boilerplate names a model',
    404,
    html(404, 'Our model of hosting: no page'),
  ),
  misconfigured('404 with an empty body', 404, json(404, '')),
  misconfigured('410 about something else', 410, error(410, 'Gone')),
  misconfigured('405', 405, error(405)),
  ...[300, 301, 302, 303, 307, 308].map((status) =>
    misconfigured(`redirect (${status})`, status, redirect(status)),
  ),
  ...ofReason('timeout', [504, 'upstream_timeout'], [['408', 408, error(408)]]),
  ...[409, 423, 425].map((status): StatusRow => ({
    says: String(status),
    script: error(status),
    of: EVERYWHERE,
    reason: `http_${status}`,
    word: [503, 'upstream_unavailable'],
  })),
];

/** Reasons that say nothing about the health of an upstream: its circuit does not count them. */
export const NEUTRAL: ReadonlySet<string> = new Set([
  'rate_limited',
  'quota',
  'model_not_found',
  'http_409',
  'http_423',
  'http_425',
]);

/** A 4xx that goes to the caller as it is; its bytes are odd on purpose. */
export interface PassedRow {
  readonly says: string;
  readonly status: number;
  readonly body: string;
  readonly of: readonly UpstreamId[];
}

const oddly = (message: string, code: string) =>
  `{ "error" : {"message":"${message}","code":${code}, "param" : 1.0,"note":"n\\u00f6 ö"} }\n\n`;

/** Refusals that nobody can explain: the fault may be the request's, or only this upstream may mind it. */
export const UNEXPLAINED: readonly PassedRow[] = [
  { says: '400', status: 400, body: oddly('temperature too high', '"bad_value"'), of: EVERYWHERE },
  {
    says: '400 with a numeric code',
    status: 400,
    body: oddly('bad grammar', '400'),
    of: EVERYWHERE,
  },
  { says: '400 with an empty body', status: 400, body: '', of: EVERYWHERE },
  { says: '415', status: 415, body: oddly('no audio', 'null'), of: EVERYWHERE },
  { says: '422', status: 422, body: '{"detail":[{"loc":["body","n"]}]}', of: EVERYWHERE },
  { says: '451', status: 451, body: oddly('not in this place', 'null'), of: EVERYWHERE },
];

/** The caller's own credential: falling back would spend the owner's keys for a stranger. */
export const OWN_CREDENTIAL: readonly PassedRow[] = [
  { says: '401', status: 401, body: oddly('wrong key', '"invalid_api_key"'), of: ['local'] },
  { says: '403', status: 403, body: oddly('not allowed here', '403'), of: ['local'] },
  {
    says: '400 about a key',
    status: 400,
    body: oddly('Incorrect API key provided', 'null'),
    of: ['local'],
  },
];

/** The prompt is too long for this upstream; the next may take it. */
export const TOO_LONG: readonly PassedRow[] = [
  {
    says: '400 with code context_length_exceeded',
    status: 400,
    body: oddly('too long', '"context_length_exceeded"'),
    of: EVERYWHERE,
  },
  {
    says: '400 in vLLM words',
    status: 400,
    body: oddly("This model's maximum context length is 4096 tokens.", '400'),
    of: EVERYWHERE,
  },
  {
    says: '400 in llama-server words',
    status: 400,
    body: oddly('the request exceeds the available context size, try increasing it', '400'),
    of: EVERYWHERE,
  },
  {
    says: '413 for context length',
    status: 413,
    body: oddly('prompt is too long: 250000 tokens', 'null'),
    of: EVERYWHERE,
  },
];

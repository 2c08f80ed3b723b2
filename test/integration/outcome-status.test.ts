import { expect, test } from 'vitest';
import type { UpstreamId } from '#shared/ids.ts';
import { chat, chatStream, expectServed, HELLO, textOf } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { answers, error, json, startUpstream, type Script } from '../support/upstream.ts';
import { at, worded, wordOf } from '../support/words.ts';
import { startBefore, startOnly } from '../support/scene.ts';
import { counted } from '../support/report.ts';

/** Who is asked after an upstream that is not the last; `ondemand` is. */
const NEXT: Readonly<Partial<Record<UpstreamId, UpstreamId>>> = {
  local: 'hosted_a',
  hosted_a: 'hosted_b',
};
const EVERYWHERE: readonly UpstreamId[] = ['local', 'hosted_a', 'ondemand'];
/** For `ondemand` the same status says that it is starting. */
const NOT_ONDEMAND: readonly UpstreamId[] = ['local', 'hosted_a'];

/** An error status, its fallback reason, and status and code of the answer where no other upstream is left. */
interface Row {
  readonly says: string;
  readonly script: Script;
  readonly reason: string;
  readonly word: readonly [status: number, code: string];
  /** HTTP status of the upstream. */
  readonly of: number;
  readonly upstreams?: readonly UpstreamId[];
  readonly retryAfter?: string;
  /** What the answer says behind the HTTP status. */
  readonly detail?: string;
  /** How often the upstream is asked; twice if it is retried first. */
  readonly calls?: number;
}

/** What a row says of falling back. */
type Fallen = Pick<Row, 'says' | 'script' | 'reason' | 'upstreams' | 'calls'>;

const row = (
  of: number,
  word: Row['word'],
  more: Partial<Row> & { readonly says?: string } = {},
): Row => ({ says: String(of), script: error(of), reason: `http_${of}`, of, word, ...more });

const BROKEN = [502, 'upstream_error'] as const;
const UNAVAILABLE = [503, 'upstream_unavailable'] as const;
const LIMITED = [429, 'upstream_rate_limited'] as const;
const QUOTA = [502, 'upstream_quota'] as const;
const MISCONFIGURED = [502, 'upstream_misconfigured'] as const;

const BUSY = [503, 'upstream_busy'] as const;

/** Ways in which engines and agents say that they are not broken, only full or not ready. */
const full = (of: number, says: string, script: Script, detail = '') =>
  row(of, BUSY, { says, script, reason: 'busy', detail, retryAfter: '2', upstreams: ['local'] });

/** A page whose boilerplate has words that say something where an engine writes them. */
const page =
  (status: number): Script =>
  ({ res }) => {
    res.writeHead(status, { 'content-type': 'text/html' });
    res.end('<!DOCTYPE html><html><body>Our queue of model hosting is busy</body></html>');
  };

/** Statuses after which the next upstream is asked. */
const ROWS: readonly Row[] = [
  row(500, BROKEN, { calls: 2 }),
  row(502, BROKEN, { calls: 2, upstreams: NOT_ONDEMAND }),
  row(504, BROKEN, { upstreams: NOT_ONDEMAND }),
  ...[501, 520, 529].map((status) => row(status, BROKEN)),
  row(503, UNAVAILABLE, { upstreams: NOT_ONDEMAND }),
  row(503, UNAVAILABLE, {
    says: '503 with Retry-After',
    script: error(503, 'no', null, { 'retry-after': '7' }),
    upstreams: NOT_ONDEMAND,
    retryAfter: '7',
  }),
  row(503, UNAVAILABLE, {
    says: '503 page whose boilerplate says busy',
    script: page(503),
    upstreams: ['local'],
  }),
  row(429, LIMITED, { reason: 'rate_limited', retryAfter: '15' }),
  row(429, LIMITED, {
    says: '429 with a long Retry-After',
    script: error(429, 'no', 'rate_limit_exceeded', { 'retry-after': '30' }),
    reason: 'rate_limited',
    retryAfter: '30',
  }),
  row(402, QUOTA, { reason: 'quota' }),
  row(404, MISCONFIGURED, { script: error(404, 'Not Found') }),
  row(404, MISCONFIGURED, { says: '404 page whose boilerplate names a model', script: page(404) }),
  row(404, MISCONFIGURED, { says: '404 with an empty body', script: json(404, '') }),
  row(410, MISCONFIGURED, { script: error(410, 'Gone') }),
  row(405, MISCONFIGURED),
  ...[300, 302, 308].map((status) =>
    row(status, MISCONFIGURED, {
      script: json(status, '', { location: 'http://127.0.0.1:9/chat/completions' }),
    }),
  ),
  row(408, [504, 'upstream_timeout'], { reason: 'timeout' }),
  ...[409, 423, 425].map((status) => row(status, UNAVAILABLE)),
  full(503, '503 of a busy Ollama', json(503, { error: 'server busy, please try again.' })),
  full(
    503,
    '503 of a llama-server that loads',
    json(503, { error: { message: 'Loading model', code: 503 } }),
    ': it is starting up, which can take minutes; try again then',
  ),
];

/** Reasons that say nothing about the health of an upstream: its circuit does not count them. */
const NEUTRAL = /^(rate_limited|quota|model_not_found|busy|http_(409|423|425))$/;

/** The upstreams that a row holds for take turns. */
const each = <Case extends { readonly upstreams?: readonly UpstreamId[] }>(
  cases: readonly Case[],
  upstreams = EVERYWHERE,
) =>
  cases.map((one, turn) => {
    const places = one.upstreams ?? upstreams;
    const upstream = places[turn % places.length] ?? 'local';
    return { ...one, upstream, next: NEXT[upstream] };
  });

const withNext = <Case extends { readonly next?: UpstreamId | undefined }>(
  cases: readonly Case[],
) => cases.flatMap(({ next, ...one }) => (next === undefined ? [] : [{ ...one, next }]));

test.each(each(ROWS))(
  'a $says from $upstream as the final answer is $word for the caller',
  async ({ upstream, script, reason, of, word, detail = '', retryAfter, calls = 1 }) => {
    const [status, code] = word;
    const only = await startUpstream(script);
    const gateway = await startGateway(at({ [upstream]: only.url }));
    expect(wordOf(await chat(gateway.url))).toEqual(
      worded({
        status,
        code,
        last: [upstream, `${reason} (HTTP ${of}${detail})`],
        ...(retryAfter === undefined ? {} : { retryAfter }),
      }),
    );
    expect(only.calls).toHaveLength(calls);
    const fails = NEUTRAL.test(reason) ? 0 : calls;
    expect(await counted(gateway, upstream)).toEqual({ fails, successes: 0 });
  },
);

/** A 4xx that goes to the caller as it is; the bytes are odd on purpose. */
interface Passed {
  readonly says: string;
  readonly status: number;
  readonly body: string;
  readonly upstreams?: readonly UpstreamId[];
}

const oddly = (message: string, code: string) =>
  `{ "error" : {"message":"${message}","code":${code}, "param" : 1.0,"note":"n\\u00f6 ö"} }\n\n`;

const tooHigh = oddly('temperature too high', '"bad_value"');
/** Refusals that nobody can explain: the fault may be the request's, or only this upstream may mind it. */
const UNEXPLAINED: readonly Passed[] = [
  { says: '400', status: 400, body: tooHigh },
  { says: '400 with an empty body', status: 400, body: '' },
  { says: '415', status: 415, body: oddly('no audio', 'null') },
  { says: '422', status: 422, body: '{"detail":[{"loc":["body","n"]}]}' },
  { says: '451', status: 451, body: oddly('not in this place', 'null') },
];

/** The prompt is too long for this upstream; the next may take it. */
const TOO_LONG: Passed = {
  says: '400 with code context_length_exceeded',
  status: 400,
  body: oddly('too long', '"context_length_exceeded"'),
};

/** The caller's own credential: falling back would spend the owner's keys for a stranger. */
const OWN_CREDENTIAL: readonly Passed[] = [
  { says: '401', status: 401, body: oddly('wrong key', '"invalid_api_key"') },
  { says: '403', status: 403, body: oddly('not allowed here', '403') },
  { says: '400 about a key', status: 400, body: oddly('Incorrect API key provided', 'null') },
].map((passed) => ({ ...passed, upstreams: ['local'] }));

/** The next upstream may mind neither. */
const TAKEN_ELSEWHERE = [...UNEXPLAINED, TOO_LONG].map(({ says, status, body }) => ({
  says,
  script: json(status, body),
  reason: body === TOO_LONG.body ? 'context_length' : `http_${status}`,
}));

test.each(withNext(each<Fallen>([...ROWS, ...TAKEN_ELSEWHERE], NOT_ONDEMAND)))(
  'a $says from $upstream falls back to $next, and the caller gets the reason',
  async ({ upstream, next, script, reason, calls = 1 }) => {
    const first = await startUpstream(script);
    const second = await startUpstream(answers('from the next'));
    const gateway = await startGateway(at({ [upstream]: first.url, [next]: second.url }));
    const answer = await chatStream(gateway.url);
    expectServed(answer, next, `${upstream}=${reason}`);
    expect(textOf(answer.text)).toBe('from the next');
    expect(first.calls).toHaveLength(calls);
    const asked = { ...HELLO, stream: true, stream_options: { include_usage: true } };
    expect(second.calls.map((call) => call.json)).toEqual([asked]);
  },
);

test.each([
  ['refuses as well', 422, 0],
  ['fails', 503, 1],
])(
  'an unexplained 400 is passed on byte for byte if the next upstream %s',
  async (_says, second, thirdCalls) => {
    const { gateway, a, b, c } = await startBefore({
      a: json(400, tooHigh, { 'x-ratelimit-remaining': '3' }),
      b: error(second),
      c: error(503),
    });
    const answer = await chat(gateway.url);
    expect(answer).toMatchObject({ status: 400, upstream: 'hosted_a', text: tooHigh });
    expect(answer.headers).toMatchObject({ 'x-ratelimit-remaining': '3' });
    expect([a.calls.length, b.calls.length, c.calls.length]).toEqual([1, 1, thirdCalls]);
  },
);

test.each(each([...UNEXPLAINED, TOO_LONG, ...OWN_CREDENTIAL]))(
  'a $says from $upstream alone is passed on byte for byte, and its circuit does not count it',
  async ({ upstream, status, body }) => {
    const refusal = json(status, body, { 'x-ratelimit-remaining': '3' });
    const { url, gateway, only } = await startOnly(upstream, refusal);
    const answer = await chat(url);
    expect(answer).toMatchObject({ status, upstream, reason: 'none', text: body });
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json',
      'x-ratelimit-remaining': '3',
    });
    expect(only.calls).toHaveLength(1);
    expect(await counted(gateway, upstream)).toEqual({ fails: 0, successes: 0 });
  },
);

test.each(OWN_CREDENTIAL)(
  'a $says from local for the caller’s credential calls and warms up no other upstream',
  async ({ status, body }) => {
    const never = answers('never');
    const { url, local, a, ondemand } = await startBefore({
      local: json(status, body),
      a: never,
      ondemand: never,
    });
    const answer = await chat(url, HELLO, { authorization: 'Bearer stranger' });
    expect(answer).toMatchObject({ status, upstream: 'local', reason: 'none', text: body });
    expect(local.calls[0]?.headers.authorization).toBe('Bearer stranger');
    expect([a, ondemand].flatMap(({ calls, gets }) => [...calls, ...gets])).toEqual([]);
  },
);

test.each([
  ['hosted_a', 401],
  ['ondemand', 403],
] as const)(
  'a gateway’s credential that %s refuses (%i) gives a 502 with the words and not the key as the final answer',
  async (upstream, status) => {
    const refusal = error(status, 'Incorrect API key provided: sk-secret-1234');
    const { url } = await startOnly(upstream, refusal);
    const answer = await chat(url);
    const last = [upstream, `credentials (HTTP ${status})`] as const;
    expect(wordOf(answer)).toEqual(worded({ status: 502, code: 'upstream_credentials', last }));
    expect(answer.text).not.toContain('1234');
    expect(answer.text).toContain('Incorrect API key provided: sk-[secret]');
  },
);

test.each([
  ['LiteLLM', 'Budget has been exceeded! Current cost: 0.2, Max budget: 0.1', 'budget_exceeded'],
  ['LocalAI', 'Request quota exceeded for all models: 5/5 requests in 1h window'],
  ['any gateway, for a minute', 'Rate limit exceeded for this key'],
])('a used-up limit of one caller at %s leaves local to all others', async (_name, ...says) => {
  const local = [error(429, ...says), answers('hi')];
  const { gateway } = await startBefore({ local, a: answers('spilled') });
  const ask = (key: string) => chat(gateway.url, HELLO, { authorization: `Bearer ${key}` });
  expectServed(await ask('spent'), 'hosted_a', 'local=http_429');
  expectServed(await ask('other'), 'local');
});

import { expect, test } from 'vitest';
import { readErrorBody } from '../../main/gateway/protocols/upstream-error.ts';
import { classify } from '../../main/gateway/upstream/failure.ts';
import { SAID } from '../support/chat-answers.ts';
import { createManualClock } from '../support/clock.ts';
import { json } from '../support/upstream.ts';
import { NEXT, keptOf, startBetween } from './between.ts';
import { ask, inTurn } from './caller.ts';
import { google, type Refusal, REFUSALS } from './refused.ts';
import { saying } from './speech.ts';

const bytesOf = ({ body }: Pick<Refusal, 'body'>) =>
  Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));

function judged(refusal: Pick<Refusal, 'place' | 'status' | 'body'>) {
  const body = bytesOf(refusal);
  return classify(
    { kind: 'status', status: refusal.status, headers: {}, body, error: readErrorBody(body) },
    { upstream: refusal.place, request: { endpoint: { support: 'required' } } },
    0,
  );
}

const LAST_STATUS: Readonly<Record<string, number>> = {
  quota: 502,
  credentials: 502,
  bad_response: 502,
  rate_limited: 429,
  busy: 503,
  model_not_found: 404,
  http_503: 503,
};

const isFailure = ({ reason }: Refusal) =>
  ['bad_response', 'http_424'].includes(reason) || reason.startsWith('http_5');

/** Of the answer if nothing else can serve: a refusal of the request keeps its own, unless clients would only repeat it. */
const lastStatusOf = (refusal: Refusal): number =>
  LAST_STATUS[refusal.reason] ??
  (isFailure(refusal) ? 502 : refusal.status < 500 ? refusal.status : 400);

test.each(REFUSALS.map((refusal) => ({ ...refusal, says: bytesOf(refusal).toString() })))(
  'a $status of $place means $reason: $says',
  (refusal) => {
    const { reason, mark, surfaced, response, said } = judged(refusal);
    const status = surfaced === 'as_is' ? response?.status : surfaced.status;
    const isPage = /^(<|$)/.test(refusal.says);
    expect({ reason, mark, status, isSilent: said === '' }).toEqual({
      reason: refusal.reason,
      mark: isFailure(refusal) ? 'failure' : 'neutral',
      status: lastStatusOf(refusal),
      isSilent: isPage,
    });
  },
);

// dcdpr/jp#1061; openrouter.ai/docs, Errors.
test.each([
  ['Google', google(429, 'no', 'RESOURCE_EXHAUSTED', [{ retryDelay: '34.5s' }]), 34_500],
  [
    'OpenRouter',
    { error: { metadata: { headers: { 'X-RateLimit-Reset': '1767225642000' } } } },
    600_000,
  ],
])('the wait that %s names in a body is kept, up to ten minutes', (_who, body, ms) => {
  expect(judged({ place: 'hosted_a', status: 429, body }).retryAfterMs).toBe(ms);
});

/** Of each reason the first, played to the whole gateway. */
const PLAYED = inTurn(
  REFUSALS.filter(({ reason }, n, all) => all.findIndex((one) => one.reason === reason) === n),
);

/** An account, a key and a full system are everybody's; a model, a prompt and a request are one caller's. */
const LEFT_OUT_MS = new Map([
  ['quota', 600_000],
  ['credentials', 600_000],
  ['rate_limited', 15_000],
  ['busy', 2000],
  ['model_not_found', 60_000],
]);

test.each(PLAYED)(
  'a request that $place refuses with $status as $reason is answered by the next upstream, in $protocol',
  async ({ protocol, ...refusal }) => {
    const { place, reason, status, body } = refusal;
    const clock = createManualClock();
    const { gateway, url, system } = await startBetween(place, json(status, body), {}, clock);
    const question = { protocol, isStream: true } as const;
    const next = { status: 200, upstream: 'hosted_b', text: NEXT, faults: [] };
    expect(await ask(url, question)).toMatchObject({ ...next, reason: `${place}=${reason}` });
    expect(system.calls).toHaveLength(1);
    expect(keptOf(gateway, place).fails).toBe(isFailure(refusal) ? 1 : 0);
    system.script = saying(SAID, {});
    const ms = LEFT_OUT_MS.get(reason) ?? 0;
    clock.advance(Math.max(0, ms - 100));
    const again = await ask(url, question);
    const other = await ask(url, { ...question, more: { model: 'another' } });
    const isOut = ms > 0;
    expect([again, other].map(({ upstream }) => upstream)).toEqual([
      isOut ? 'hosted_b' : place,
      isOut && reason !== 'model_not_found' ? 'hosted_b' : place,
    ]);
    clock.advance(200);
    expect(await ask(url, question)).toMatchObject({ upstream: place, text: SAID.text });
  },
);

test.each(PLAYED)(
  'a caller of Messages that nothing else can serve gets what $place said with $status as $reason',
  async (refusal) => {
    const { place, status, body } = refusal;
    const { url } = await startBetween(place, json(status, body), { HOSTED_B_BASE_URL: '' });
    const told = await ask(url, { protocol: 'messages', isStream: false });
    expect(told.status).toBe(lastStatusOf(refusal));
    expect(told.error['message']).toContain(readErrorBody(bytesOf(refusal)).message);
  },
);

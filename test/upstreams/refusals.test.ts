import { expect, test } from 'vitest';
import type { FailureReason } from '#shared/reasons.ts';
import { readErrorBody } from '../../main/gateway/protocols/upstream-error.ts';
import { createManualClock } from '../support/clock.ts';
import { json, type Script } from '../support/upstream.ts';
import { keptOf, NEXT, startBetween } from './between.ts';
import { ask, inTurn } from './caller.ts';
import type { Refusal } from './system.ts';
import { SYSTEMS } from './systems/all.ts';

const UNREAD = 'nothing that can be read';

const CASES = SYSTEMS.flatMap(({ name, place, refusals = [] }) =>
  refusals.map((refusal) => ({ name, place, ...refusal, says: wordsOf(refusal) })),
);

function wordsOf({ body }: Refusal): string {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return readErrorBody(Buffer.from(text)).message.slice(0, 60) || UNREAD;
}

const refusing = ({ status, body, headers }: Refusal): Script => json(status, body, headers);

const MINUTE_MS = 60_000;

/** How long a system is left out after it. What is about the request leaves nothing behind. */
function skipsAfter({ reason, waitMs }: Refusal) {
  switch (reason) {
    case 'quota':
    case 'credentials':
      return [{ reason, ms: 10 * MINUTE_MS }];
    case 'rate_limited':
      return [{ reason, ms: waitMs ?? 15_000 }];
    case 'busy':
      return [{ reason, ms: 2000 }];
    case 'model_not_found':
      return [{ reason, model: 'm', ms: MINUTE_MS }];
    default:
      return [];
  }
}

const isFailure = (reason: FailureReason) =>
  ['bad_response', 'http_424'].includes(reason) || reason.startsWith('http_5');

test.each(inTurn(CASES))(
  'a request is answered by the next upstream where $name says $status: $says, in $protocol',
  async ({ protocol, ...refusal }) => {
    const { place, reason } = refusal;
    const clock = createManualClock();
    const { gateway, url, system } = await startBetween(place, refusing(refusal), {}, clock);
    const told = await ask(url, { protocol, isStream: true });
    expect(told).toMatchObject({ status: 200, upstream: 'hosted_b', text: NEXT, faults: [] });
    expect(told.reason).toBe(`${place}=${reason}`);
    expect(system.calls).toHaveLength(1);
    const { fails, skips } = keptOf(gateway, place);
    expect(fails).toBe(isFailure(reason) ? 1 : 0);
    expect(skips).toEqual(
      skipsAfter(refusal).map((skip) => ({ ...skip, ms: expect.closeTo(skip.ms, -1) as number })),
    );
  },
);

const LAST_WORDS: Readonly<Record<string, number>> = {
  quota: 502,
  credentials: 502,
  bad_response: 502,
  rate_limited: 429,
  busy: 503,
  model_not_found: 404,
  http_503: 503,
};

/** A refusal of the request keeps its status, unless clients would only repeat it. */
function lastStatus({ reason, status }: Refusal): number {
  const known = LAST_WORDS[reason];
  if (known !== undefined) return known;
  if (isFailure(reason)) return 502;
  return status >= 400 && status < 500 ? status : 400;
}

test.each(inTurn(CASES))(
  'a caller that nothing else can serve gets what $name said with $status: $says, in $protocol',
  async ({ protocol, ...refusal }) => {
    const { place, says } = refusal;
    const alone = { HOSTED_B_BASE_URL: '' };
    const { url } = await startBetween(place, refusing(refusal), alone, createManualClock());
    const { status, error } = await ask(url, { protocol, isStream: false });
    expect(status).toBe(lastStatus(refusal));
    // Clients of OpenAI's protocols get the system's own bytes.
    const told = protocol === 'messages' ? error['message'] : says;
    expect(told).toContain(says === UNREAD ? '' : says);
  },
);

import { expect, test } from 'vitest';
import { keptOf, NEXT, placed, startBetween, WAYS } from './between.ts';
import { ask, inEach, protocolOf } from './caller.ts';
import { answer, DONE, oddly, part, piece } from './speech.ts';
import type { Oddity, System } from './system.ts';
import { SYSTEMS } from './systems/all.ts';

const HALF = part({ content: 'Pre' });

/** With the end that a stream of chat completions has. */
function ended(oddity: Oddity): Oddity {
  const { stream, native, isOpen } = oddity;
  if (stream === undefined || native !== undefined || isOpen === true) return oddity;
  return { ...oddity, stream: [...stream, DONE] };
}

/** Those of its list, and what follows from how it fails. */
function odditiesOf({ oddities = [], gaveUp = [], failures = [] }: System): Oddity[] {
  return [
    ...oddities,
    ...gaveUp.map((reason) => ({
      says: `half an answer with the reason ${reason}`,
      stream: [HALF, part({}, reason)],
      whole: answer({ content: 'Pre' }, reason),
      fate: { broken: 'Pre' },
    })),
    ...failures.flatMap(({ event, means }) => [
      { says: `first that it is ${means}`, stream: [event], fate: { next: means } },
      {
        says: `in the middle that it is ${means}`,
        stream: [HALF, event],
        fate: { broken: 'Pre', means },
      },
    ]),
  ];
}

/** With the protocol of the answer. */
function spoken({ place, settings }: ReturnType<typeof placed>, { native }: Oddity) {
  const own = native === undefined ? {} : { [`${place.toUpperCase()}_PROTOCOLS`]: 'native' };
  return { place, settings: { ...settings, ...own } };
}

const TRANSLATED = ['messages', 'responses'] as const;

const CASES = SYSTEMS.flatMap((system) =>
  odditiesOf(system)
    .map(ended)
    .flatMap((oddity) =>
      WAYS.filter((way) => way !== 'whole' || oddity.whole !== undefined).map((way) => ({
        name: system.name,
        ...spoken(placed(system.place, way), oddity),
        manner: system.manner,
        ...oddity,
        way,
      })),
    ),
);
type Case = (typeof CASES)[number];

const fails = (means: string) => (means === 'bad_response' ? 1 : 0);

/** What the caller hears, and what the circuit of the system keeps. */
function expectedOf({ fate, place, way }: Pick<Case, 'fate' | 'place' | 'way'>) {
  const next = { text: NEXT, reasoning: '', calls: [], finish: 'stop', end: 'whole' };
  const at = { upstream: place, reason: 'none', fails: 0 };
  if ('next' in fate) {
    const reason = `${place}=${fate.next}`;
    return { ...next, upstream: 'hosted_b', reason, fails: fails(fate.next) };
  }
  if (!('broken' in fate)) return { ...next, ...at, text: '', ...fate };
  const { broken, means = 'bad_response' } = fate;
  return way === 'streamed'
    ? { ...at, text: broken, end: 'broken', fails: fails(means) }
    : { ...next, upstream: 'hosted_b', fails: fails(means) };
}

/** Null for one that broke off. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

/** Streams are told as they come and translated; the other protocols take turns. */
const ASKED = CASES.flatMap((each, n) => {
  if (each.native !== undefined) return [{ ...each, protocol: each.native }];
  const protocols =
    each.way === 'streamed' ? (['chat', TRANSLATED[n % 2]] as const) : [protocolOf(n)];
  return protocols.map((protocol = 'chat') => ({ ...each, protocol }));
});

test.each(ASKED)(
  'a caller gets what an odd answer means, if it comes: $way from $name, which says $says, in $protocol',
  async ({ protocol, ...each }) => {
    const { place, settings, manner, way, tokens } = each;
    const { gateway, url } = await startBetween(place, oddly(each, manner), settings);
    const told = await ask(url, { protocol, isStream: way === 'streamed' });
    const kept = keptOf(gateway, place);
    const calls = told.calls.map(({ name, arguments: json }) => ({
      name,
      arguments: parsed(json),
    }));
    expect({ ...told, calls, fails: kept.fails }).toMatchObject(expectedOf(each));
    expect(told.faults).toEqual([]);
    const counted = gateway.host.snapshot().requests[0]?.tokens;
    expect(counted).toEqual(tokens ?? counted);
  },
);

test('an error in the middle of a stream keeps the code that clients act on', async () => {
  const error = {
    message: 'too long',
    type: 'invalid_request_error',
    code: 'context_length_exceeded',
  };
  const { url } = await startBetween('hosted_a', oddly({ stream: [HALF, { error }] }, {}));
  const told = await ask(url, { protocol: 'chat', isStream: true });
  expect(told.error).toMatchObject({ code: error.code });
});

test.each(inEach([{ isStream: true }, { isStream: false }]))(
  'a call that breaks off is cut by the limit, whatever vLLM says, in $protocol, streamed: $isStream',
  async (question) => {
    // github.com/vllm-project/vllm/issues/53269 and /58228
    const stream = [
      part({ tool_calls: [piece(0, 'a', '{"text":"Pre', { id: 'call_1' })] }),
      part({}, 'tool_calls'),
      DONE,
    ];
    const { url } = await startBetween('local', oddly({ stream }, {}));
    const { upstream, finish, end, faults } = await ask(url, question);
    const seen = { upstream, finish, end, faults };
    expect(seen).toEqual({ upstream: 'local', finish: 'length', end: 'whole', faults: [] });
  },
);

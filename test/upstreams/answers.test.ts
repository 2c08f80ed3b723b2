import { expect, test } from 'vitest';
import type { Tokens } from '#shared/usage.ts';
import { type Reply, SAID } from '../support/chat-answers.ts';
import { ask, protocolOf, type View } from './caller.ts';
import { keptOf, NEXT, placed, startBetween, WAYS } from './between.ts';
import { type Cut, saying, sayingHalf } from './speech.ts';
import type { Manner, System } from './system.ts';
import { SYSTEMS } from './systems/all.ts';

const TEXT = 'Press it: "no" 😀 [DONE] {"error": "x"} "finish_reason":"stop"\n';
const CALL = { id: 'call_1', name: 'weather', arguments: '{"city":"Oslo","days":[1,{"a":"}"}]}' };
const OTHER = { id: 'call_2', name: 'send_mail', arguments: '{"to":"bob"}' };
const calls = (...all: Reply['calls']) => ({
  text: '',
  calls: all,
  finish: 'tool_calls' as const,
});

/** What a model says, by situation. */
const SITUATIONS: Readonly<Record<string, Partial<Reply> & { readonly isAfterTool?: true }>> = {
  'a plain answer': { text: TEXT },
  'an answer with reasoning': { reasoning: 'Hm, "no".', text: TEXT },
  'an answer that the limit cut off': { text: 'Press', finish: 'length' },
  'an answer that was filtered': { text: 'Press', finish: 'content_filter' },
  'reasoning alone': { reasoning: 'Hm.', text: '' },
  'hidden reasoning that used up the limit': { text: '', finish: 'length' },
  'nothing to add to a tool’s result': { text: '', isAfterTool: true },
  'a call without arguments': calls({ ...CALL, arguments: '' }),
  'parallel calls of one tool': calls(CALL, { ...CALL, id: 'call_2' }),
  'text, reasoning and calls': { ...calls(CALL, OTHER), reasoning: 'Hm.', text: TEXT },
};

const spokenBy = ({ manner }: System) => JSON.stringify(manner);
/** Of several systems that tell every answer alike, the first. */
const SPEAKERS = [...new Map(SYSTEMS.toReversed().map((each) => [spokenBy(each), each])).values()];

/** Each system speaks of each situation in each way; the protocols of the callers take turns. */
const CASES = SPEAKERS.flatMap((system, turn) =>
  WAYS.map((way) => ({ ...system, ...placed(system.place, way), way, turn })),
);

/** What is the same for all systems. */
function expectedOf(said: Reply) {
  return {
    status: 200,
    reason: 'none',
    end: 'whole',
    text: said.text,
    reasoning: said.reasoning,
    finish: said.finish,
    calls: said.calls.map(({ name, arguments: json }) => ({
      name,
      arguments: JSON.parse(json || '{}') as unknown,
    })),
    hasIds: true,
    faults: [],
  };
}

function seenOf(told: View) {
  const { status, reason, end, text, reasoning, finish, faults } = told;
  const ids = new Set(told.calls.map(({ id }) => id));
  return {
    status,
    reason,
    end,
    text,
    reasoning,
    finish,
    calls: told.calls.map(({ name, arguments: json }) => ({
      name,
      arguments: JSON.parse(json) as unknown,
    })),
    hasIds: ids.size === told.calls.length && !ids.has(''),
    faults,
  };
}

/** As it is told, or guessed where it is not. */
function tokensOf(manner: Manner): unknown {
  const tokens: Partial<Tokens> =
    manner.usage === 'none'
      ? { estimated: true }
      : { input: 12, output: 7, cached: 0, estimated: false };
  return expect.objectContaining(tokens);
}

test.each(CASES)(
  'what a model says reaches its caller: from $name, $way',
  async ({ place, settings, manner, way, turn }) => {
    const { gateway, url, system } = await startBetween(place, saying(SAID, manner), settings);
    const seen: Record<string, unknown> = {};
    const expected: Record<string, unknown> = {};
    for (const [n, [situation, { isAfterTool, ...given }]] of Object.entries(
      SITUATIONS,
    ).entries()) {
      const protocol = protocolOf(turn + n);
      const said = { ...SAID, usage: { input: 12, cached: 0, output: 7 }, ...given };
      system.script = saying(said, manner);
      const told = await ask(url, {
        protocol,
        isStream: way === 'streamed',
        isAfterTool: isAfterTool ?? false,
      });
      seen[situation] = seenOf(told);
      expected[situation] = expectedOf(said);
    }
    expect(seen).toEqual(expected);
    const counted = gateway.host.snapshot().requests.map(({ tokens }) => tokens);
    expect(counted).toEqual(Object.keys(SITUATIONS).map(() => tokensOf(manner)));
    expect(keptOf(gateway, place)).toEqual({ fails: 0, skips: [] });
  },
);

/** What is still to be decoded is lost with its connection, and so it is chance who answers. */
const CUT = CASES.filter(({ way, manner }) => way !== 'whole' && manner.coding === undefined);

const CUTS: readonly Cut[] = ['reset', 'closed', 'done'];

test.each(CUT)(
  'an answer that is cut off is never passed on as whole: from $name, $way',
  async ({ place, settings, manner, way, turn }) => {
    const said = { ...SAID, text: 'Transfer the money only if' };
    const { url, system } = await startBetween(place, saying(said, manner), {
      ...settings,
      FAIL_THRESHOLD: '100',
    });
    for (const [n, how] of CUTS.entries()) {
      const protocol = protocolOf(turn + n);
      system.script = sayingHalf(said, manner, how);
      const isStream = way === 'streamed';
      const told = await ask(url, { protocol, isStream });
      const { text, end, faults } = told;
      const isHanded = !isStream || manner.isWhole === true;
      const expected = isHanded
        ? { text: NEXT, end: 'whole', faults: [] }
        : { text: said.text, end: 'broken', faults: [] };
      expect({ how, text, end, faults }).toEqual({ how, ...expected });
    }
  },
);

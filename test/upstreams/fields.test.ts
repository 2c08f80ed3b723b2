import { expect, test } from 'vitest';
import { SAID } from '../support/chat-answers.ts';
import { json, type Script } from '../support/upstream.ts';
import { startBetween } from './between.ts';
import { ask } from './caller.ts';
import { saying } from './speech.ts';
import type { Manner, RefusedField } from './system.ts';
import { SYSTEMS } from './systems/all.ts';

const CASES = SYSTEMS.flatMap(({ name, place, manner, fields = [] }) =>
  fields.flatMap((field) =>
    ['a stream', 'a whole answer'].map((wanted) => ({ name, place, manner, ...field, wanted })),
  ),
);

const minding =
  ({ minds, status, body }: RefusedField, manner: Manner): Script =>
  (call) =>
    (minds(call.json) ? json(status, body) : saying(SAID, manner))(call);

test.each(CASES)(
  'a request for $wanted is adjusted, once, for $name, which does not take $about',
  async ({ place, manner, wanted, ...field }) => {
    const { from: protocol = 'chat', request: more, minds, sent } = field;
    const { isNeverSent, isSentAgain } = field;
    const { url, system, next } = await startBetween(place, minding(field, manner));
    const question = { protocol, isStream: wanted === 'a stream', more };
    const told = await ask(url, question);
    expect(told).toMatchObject({ status: 200, upstream: place, reason: 'none', text: SAID.text });
    expect(system.calls.map((call) => minds(call.json))).toEqual(
      isNeverSent ? [false] : [true, false],
    );
    expect(system.calls.at(-1)?.json).toMatchObject(sent);
    await ask(url, question);
    const refused = isSentAgain ? 2 : 1;
    expect(system.calls.filter((call) => minds(call.json))).toHaveLength(isNeverSent ? 0 : refused);
    expect(next.calls).toHaveLength(0);
  },
);

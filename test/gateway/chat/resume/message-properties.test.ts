import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSplice } from '../../../../main/gateway/chat/resume/splice.ts';
import { readTranscript } from '../../../../main/gateway/chat/resume/transcript.ts';
import { MESSAGES_TRANSLATION } from '../../../../main/gateway/protocols/messages/endpoint.ts';
import { restTranslator } from '../../../../main/gateway/protocols/answer-translation.ts';
import { eventsOf } from '../../../../main/gateway/protocols/sse.ts';
import { chunksOf, saidArbitrary, type Said } from '../../../support/chat-answers.ts';
import { heardMessage } from '../../../support/heard-message.ts';
import { framesIn } from '../../../support/resume.ts';

const EXCHANGE = { request: {}, createdAt: 1_700_000_000, model: 'asked', items: null };
const DONE = 'data: [DONE]\n\n';

/** The stream of a message, an event each. */
function messageOf(said: Said, pieceChars: number, id: string): string[] {
  const stream = MESSAGES_TRANSLATION.createStream({ ...EXCHANGE, id });
  const text =
    chunksOf(said, pieceChars)
      .map((chunk) => stream.push(chunk))
      .join('') + stream.end();
  return eventsOf(framesIn(text)).map((event) => event.toString());
}

const chatOf = (said: Said, pieceChars: number) => [
  ...chunksOf(said, pieceChars).map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`),
  DONE,
];

/** What follows `sent` where the whole answer is given again in `second`; null where it cannot be resumed. */
function rest(sent: readonly string[], second: readonly string[]): string | null {
  const transcript = readTranscript(sent.map((event) => Buffer.from(event)));
  if (transcript.kind === 'not_resumable') {
    if (transcript.reason === 'nothing' || transcript.reason === 'finished') return null;
    throw new Error(transcript.reason);
  }
  const splice = createSplice(transcript, { kind: 'repeated' });
  const blocks = transcript.blocks ?? { next: 0, open: [], calls: [] };
  const translator = restTranslator(MESSAGES_TRANSLATION, { id: 'rest', request: {} }, blocks);
  let text = '';
  for (const event of second) {
    const spliced = splice.push(framesIn(event));
    if (spliced.kind === 'diverged') throw new Error(spliced.detail);
    if (spliced.frames !== null) text += translator.push(spliced.frames).toString();
  }
  return text + translator.end().toString();
}

test('a message that breaks off anywhere and is given again in any protocol arrives as one message', () => {
  const pieceChars = fc.integer({ min: 1, max: 9 });
  const resumed = { is: 0, not: 0 };
  fc.assert(
    fc.property(
      saidArbitrary,
      fc.tuple(pieceChars, pieceChars),
      fc.noBias(fc.nat(1000)),
      fc.boolean(),
      (said, [first, second], place, isNative) => {
        const events = messageOf(said, first, 'first');
        const sent = events.slice(0, Math.floor((place / 1000) * events.length));
        const again = isNative ? messageOf(said, second, 'second') : chatOf(said, second);
        const text = rest(sent, again);
        resumed[text === null ? 'not' : 'is'] += 1;
        if (text === null) return;
        const whole = heardMessage(events.join(''));
        const { usage: _, ...heard } = heardMessage(sent.join('') + text);
        expect(whole).toMatchObject(heard);
      },
    ),
    { numRuns: 400 },
  );
  expect(resumed.is).toBeGreaterThan(100);
});

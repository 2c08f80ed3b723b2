import { expect, test } from 'vitest';
import {
  createTypedWatch,
  type EventRepair,
} from '../../../main/gateway/protocols/typed-events.ts';
import { MESSAGES } from '../../../main/gateway/protocols/messages/endpoint.ts';
import { framesOf } from '../../../main/gateway/protocols/sse.ts';
import { GOING, type StreamWatch } from '../../../main/gateway/protocols/stream-inspector.ts';
import { typed } from '../../support/protocols.ts';

const UNREPAIRED: EventRepair = { words: [], take: (event) => event, isWhole: () => true };
const watch = () => createTypedWatch({ done: ['message_stop'], failed: ['error'] }, UNREPAIRED);
const frames = (...events: readonly string[]) =>
  framesOf(events.map((event) => Buffer.from(event)));
function taken(...events: readonly string[]) {
  const all = frames(...events);
  const { frames: left, sight } = watch().take(all) ?? { frames: all, sight: GOING };
  return { text: left.bytes.toString(), sight: sight.kind };
}
const textAfter = (watching: StreamWatch | undefined, event: string) =>
  (watching?.take(frames(event))?.frames.bytes ?? event).toString();
const DELTA = typed('delta', { text: 'a' });

test('a stream of typed events ends at the event of that type, wherever its name occurs before', () => {
  const named = typed('delta', { text: '{"type":"message_stop"} message_stop error' });
  const nested = typed('delta', { inner: { type: 'message_stop' } });
  const stop = 'data: { "text" : "x", "type" : "message_stop" }\n\n';
  expect(taken(named, nested, stop, DELTA)).toEqual({ text: named + nested + stop, sight: 'done' });
  expect(taken(named, nested)).toEqual({ text: named + nested, sight: 'going' });
});

test.each([
  ['data: null\n\n', false],
  ['event: x\ndata: [1]\n\n', false],
  ['event: x\r\ndata: 5\r\n\r\n', false],
  ['data: half {\n\n', false],
  [': ping\n\n', true],
  ['event: ping\n\n', true],
  ['data:\n\n', true],
  ['data: [DONE]\n\n', false],
  ['data:{"type":"a"}\n\n', true],
  ['event: a\r\ndata: {"type":"a"}\r\n\r\n', true],
  ['id: data: x\ndata: {"a":1}\n\n', true],
])('a typed event on which a client would throw is left out: %j is kept: %s', (event, isKept) => {
  expect(taken(DELTA, event).text).toBe(DELTA + (isKept ? event : ''));
});

// github.com/BerriAI/litellm/issues/32478 and /37273, and vllm-project/agentic-api/issues/296.
test('a typed event is repaired when it comes, whether or not the end comes with it', () => {
  const repaired = MESSAGES.answer.stream?.createWatch(1);
  const start = typed('message_start', { message: { usage: { output_tokens: 25 } } });
  const call = typed('content_block_start', { index: 0, content_block: { type: 'tool_use' } });
  const stop = typed('content_block_stop', { index: 0 });
  const untold = typed('message_delta', { delta: { stop_reason: 'end_turn' } });
  const told = [start, start, call, stop, stop, untold].map((event) => textAfter(repaired, event));
  // What the start has told of the output stays.
  const end = { delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 25 } };
  expect(told).toEqual([start, '', call, stop, '', typed('message_delta', end)]);
});

test('a message that tells no usage gets counts of 0, because its clients read them', () => {
  const watching = MESSAGES.answer.stream?.createWatch(1);
  const repaired = (type: string, value: object) => textAfter(watching, typed(type, value));
  const counts = { input_tokens: 0, output_tokens: 0 };
  const begun = { message: { id: 'a', usage: null } };
  const delta = { stop_reason: 'end_turn' };
  expect([repaired('message_start', begun), repaired('message_delta', { delta })]).toEqual([
    typed('message_start', { message: { id: 'a', usage: counts } }),
    // What the start has told of the input stays.
    typed('message_delta', { delta, usage: { output_tokens: 0 } }),
  ]);
  const whole = { type: 'message', content: [], stop_reason: 'end_turn' };
  const answer = MESSAGES.answer.repaired?.(Buffer.from(JSON.stringify(whole)));
  expect(JSON.parse(String(answer))).toEqual({ ...whole, usage: counts });
});

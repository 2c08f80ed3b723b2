import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createAssembly } from '../../../main/gateway/protocols/assembly.ts';
import { CHAT_STREAM } from '../../../main/gateway/protocols/chat/endpoint.ts';
import { createAssemblingReader } from '../../../main/gateway/upstream/body-readers.ts';
import { characters } from '../../support/characters.ts';

const eventOf = (chunk: unknown) => Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`);

function chunkOf(delta: object, more: object = {}): object {
  const choices = [{ index: 0, delta, finish_reason: null }];
  return { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices, ...more };
}

function assembled(events: readonly Buffer[], isEachParsed: boolean): string {
  const { addText, ...parsing } = createAssembly();
  const assembly = isEachParsed || addText === undefined ? parsing : { ...parsing, addText };
  const reader = createAssemblingReader(CHAT_STREAM, assembly, { followsToolResult: () => false });
  for (const event of events) {
    const progress = reader.push(event);
    if (progress.kind !== 'more') return JSON.stringify(progress);
  }
  const end = reader.end();
  return end.kind === 'whole' ? end.body.toString() : JSON.stringify(end);
}

const text = fc.oneof(
  fc.string(),
  characters(),
  fc.constantFrom('"', '\\', '"},"finish_reason":null}]}', '"content":"x"', ' ', ''),
);
const delta = fc.oneof(
  { weight: 6, arbitrary: text.map((content) => ({ content })) },
  { weight: 2, arbitrary: text.map((reasoning) => ({ reasoning_content: reasoning })) },
  text.map((content) => ({ role: 'assistant', content })),
  text.map((content) => ({ content, reasoning: content })),
  text.map((content) => ({ content, extra: { content } })),
  fc.constant({ content: [{ type: 'text', text: 'part' }] }),
  fc.constant({ tool_calls: [{ index: 0, id: 'call', function: { name: 'f', arguments: '{' } }] }),
);
const more = fc.oneof(
  { weight: 6, arbitrary: fc.constant({}) },
  fc.constantFrom({ system_fingerprint: 'a' }, { system_fingerprint: 'b' }, { usage: null }),
  text.map((content) => ({ note: { content } })),
);

test('an answer whose usual chunks are not parsed is the same, byte for byte, as a parsed one', () => {
  const chunks = fc.array(fc.tuple(delta, more), { minLength: 1, maxLength: 30 });
  const property = fc.property(chunks, fc.boolean(), (given, isEnded) => {
    const last = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
    const all = [
      ...given.map(([said, others]) => chunkOf(said, others)),
      ...(isEnded ? [last] : []),
    ];
    const events = all.map(eventOf);
    expect(assembled(events, false)).toBe(assembled(events, true));
  });
  fc.assert(property, { numRuns: 400 });
});

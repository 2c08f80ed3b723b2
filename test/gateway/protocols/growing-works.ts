import { bodyOf } from '../../../main/gateway/protocols/json-edit.ts';
import { createAssembly } from '../../../main/gateway/protocols/assembly.ts';
import { Framer, framesOf } from '../../../main/gateway/protocols/sse.ts';
import {
  createTypedWatch,
  type EventRepair,
} from '../../../main/gateway/protocols/typed-events.ts';
import { UsageMeter } from '../../../main/gateway/protocols/tokens.ts';
import { adjustedBody, adjustmentsAfter } from '../../../main/gateway/upstream/adjustments.ts';
import { withoutFields } from '../../../main/gateway/upstream/refused-fields.ts';
import { readErrorBody } from '../../../main/gateway/protocols/upstream-error.ts';
import { createSseReader } from '../../../renderer/api/sse.ts';
import type { Works } from '../../support/steps.ts';

const assembling = (piece: (at: number) => unknown, size = 1000) => ({
  size,
  begin: (count: number) => () => {
    const assembly = createAssembly();
    for (let at = 0; at < count; at += 1) assembly.add({ choices: [{ delta: piece(at) }] });
    assembly.result();
  },
});

const UNREPAIRED: EventRepair = { words: [], take: (event) => event, isWhole: () => true };

export const WORKS: Works = {
  'deltas with lists': assembling(() => ({ content: [{ type: 'text', text: 'a' }] })),
  'deltas with arguments of one call': assembling(() => ({
    tool_calls: [{ index: 0, function: { arguments: 'a' } }],
  })),
  'deltas with calls': assembling(
    (at) => ({ tool_calls: [{ index: at, function: { arguments: 'a' } }] }),
    100,
  ),
  'deltas with fields of one call': assembling((at) => ({
    tool_calls: [{ index: 0, [`k${at}`]: 1 }],
  })),
  'deltas with fields of the message': assembling((at) => ({ [`k${at}`]: 1 })),
  'typed events': {
    size: 1000,
    begin(size) {
      const event = Buffer.from('id: message_sto\n\n');
      const frames = framesOf(Array.from({ length: size }, () => event));
      const watch = createTypedWatch({ done: ['message_stop'], failed: ['error'] }, UNREPAIRED);
      return () => void watch.take(frames);
    },
  },
  'names in a refusal, each in every turn of the request': {
    size: 4,
    begin(size) {
      const names = Array.from({ length: size }, (_, at) => `name_${at}`);
      const turn = {
        content: 'x'.repeat(500),
        ...Object.fromEntries(names.map((name) => [name, 1])),
      };
      const body = Buffer.from(
        JSON.stringify({ messages: Array.from({ length: 1000 }, () => turn) }),
      );
      const message = `Unknown fields: ${names.map((name) => `messages.0.${name}`).join(', ')}`;
      const error = readErrorBody(Buffer.from(JSON.stringify({ error: { message } })));
      const asked = { status: 400, isForWords: true, headers: [], mayBeWhole: true };
      return () => void adjustmentsAfter({ ...asked, error, body, made: new Set() });
    },
  },
  'calls of one turn that all have a result in the next': {
    size: 100,
    begin(size) {
      const ids = Array.from({ length: size }, (_, at) => `call${at}`);
      const calls = ids.map((id) => ({ type: 'tool_use', id, input: {} }));
      const results = ids.map((id) => ({ type: 'tool_result', tool_use_id: id }));
      const turns = [
        { role: 'assistant', content: calls },
        { role: 'user', content: [...results, { type: 'tool_result' }] },
      ];
      const body = bodyOf(Buffer.from(JSON.stringify({ messages: turns })));
      return () => void adjustedBody(body, new Set(['sound_calls']));
    },
  },
  'members of an object that each have a refused field': {
    size: 100,
    begin(size) {
      const members = Array.from({ length: size }, (_, at) => [`k${at}`, { refused: 1, kept: 1 }]);
      const body = bodyOf(Buffer.from(JSON.stringify({ extra: Object.fromEntries(members) })));
      return () => void withoutFields(['without extra.refused'], body);
    },
  },
  'usages within usages': {
    // More than 4 KB are not read as one.
    size: 50,
    begin(size) {
      const event = `data: ${'{"usage":'.repeat(size)}1${'}'.repeat(size)}\n\n`;
      const frames = new Framer().push(Buffer.from(event));
      if (frames === null) throw new Error('no event');
      return () => void new UsageMeter(false).take(frames);
    },
  },
  'pieces of one event of the live feed': {
    size: 1000,
    begin: (size) => () => {
      const push = createSseReader(() => {});
      for (let piece = 0; piece < size; piece += 1) push('a piece of an event.');
      push('\n\n');
    },
  },
};

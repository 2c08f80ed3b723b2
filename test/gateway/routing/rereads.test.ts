import { expect, test } from 'vitest';
import { createMemory } from '../../../main/gateway/memory/memory.ts';
import { bodyOf } from '../../../main/gateway/protocols/json-edit.ts';
import { chainOf, hashIsReady } from '../../../main/gateway/protocols/prompt-chain.ts';
import { noteTurn } from '../../../main/gateway/routing/rereads.ts';
import { createManualClock } from '../../support/clock.ts';

await hashIsReady;

interface Message {
  readonly role: string;
  readonly content: string;
}

interface Prompt {
  readonly model?: string;
  readonly tools?: readonly string[];
  readonly messages: readonly Message[];
}

const say = (role: string, content: string): Message => ({ role, content });

function machines() {
  const clock = createManualClock();
  const memory = createMemory(clock);
  /** A prompt of 10,000 tokens that a machine has read; gives why. */
  function read(turn: Prompt, { id = 'a', cached = 0, isLoading = false, input = 10_000 } = {}) {
    const bytes = Buffer.from(JSON.stringify({ model: 'm', ...turn }));
    const chain = chainOf(bodyOf(bytes), {});
    if (chain === null) throw new Error('no chain');
    clock.advance(1000);
    return noteTurn(memory, memory.of(id), {
      id,
      chain,
      tokens: { input, cached, output: 1, estimated: false },
      call: { model: turn.model ?? 'm', isLoading },
      readAt: clock.ticks(),
    });
  }
  for (const id of ['a', 'b']) memory.of(id).set('tells_reuse', '', true);
  return { memory, read };
}

const BEFORE = [
  say('system', 'You are a coder.'),
  say('user', 'Hello <system-reminder>nothing is open</system-reminder>'),
  say('assistant', 'Hi!'),
  say('user', 'What is in the file?'),
  say('assistant', 'A list.'),
  say('tool', 'one two'),
];
const TURN: Prompt = { tools: ['read'], messages: BEFORE };
const next = (messages: readonly Message[] = BEFORE): Prompt => ({
  ...TURN,
  messages: [...messages, say('assistant', 'So it is.'), say('user', 'Go on.')],
});
const changed = (at: number, message: Message | null) =>
  next(BEFORE.flatMap((each, index) => (index === at ? (message ?? []) : each)));

test.each<[what: string, then: Prompt, why: string, message: number | null]>([
  ['the system prompt', changed(0, say('system', 'Today is Friday.')), 'system', null],
  ['a tool', { ...next(), tools: ['read', 'write'] }, 'tools', null],
  [
    'a reminder in a message',
    changed(1, say('user', 'Hello <system-reminder>a file is open</system-reminder>')),
    'reminder',
    2,
  ],
  ['a message of the user', changed(3, say('user', 'What is in it?')), 'user', 4],
  ['an earlier answer', changed(2, say('assistant', 'Hey')), 'assistant', 3],
  ['the result of a tool', changed(5, say('tool', 'three')), 'tool', 6],
  ['what is left out of the middle', changed(3, null), 'assistant', 4],
  ['nothing', next(), 'evicted', null],
  ['the model', { ...next(), model: 'other' }, 'another_model', null],
])('a turn that is read again says that %s has changed', (_what, then, why, message) => {
  const { read } = machines();
  expect(read(TURN)).toBeNull();
  expect(read(then, { cached: 1000, input: 12_000 })).toEqual({ why, again: 9000, message });
});

test('a turn is compared with the latest one of its conversation, not with one that began alike', () => {
  const { read } = machines();
  read({ messages: BEFORE.slice(0, 2) });
  read(TURN);
  const alike = { ...TURN, messages: [...BEFORE.slice(0, 2), say('assistant', 'Yes?')] };
  read(alike);
  expect(read(next())).toMatchObject({ why: 'evicted' });
  expect(read(changed(4, say('assistant', 'Ten.')))).toMatchObject({ message: 5 });
});

test('a turn that another machine has read, or whose model was unloaded or is loading, says so first', () => {
  const { memory, read } = machines();
  read(TURN);
  expect(read(changed(1, null), { id: 'b' })).toMatchObject({ why: 'another_machine' });
  expect(read(changed(1, null), { id: 'b', isLoading: true })).toMatchObject({ why: 'unloaded' });
  memory.emptied('b', () => false);
  expect(read(changed(1, null), { id: 'b' })).toMatchObject({ why: 'unloaded' });
});

test('a turn of a long conversation names the message by its place in the whole', () => {
  const { read } = machines();
  const long = Array.from({ length: 200 }, (_, at) => say(at % 2 ? 'assistant' : 'user', `${at}`));
  read({ messages: long });
  const edited = (at: number) => long.with(at, say('user', 'edited'));
  expect(read({ messages: edited(180) })).toMatchObject({ why: 'user', message: 181 });
  expect(read({ messages: edited(4) })).toMatchObject({ why: 'message', message: null });
});

test('a first turn is one without an answer in it, and a conversation that came from elsewhere is not explained', () => {
  const { read } = machines();
  const first = { messages: BEFORE.slice(0, 2) };
  expect(read(first)).toEqual({ why: 'first_turn', again: 0, message: null });
  expect(machines().read(TURN)).toBeNull();
  const other = read({ messages: [say('system', 'Other'), ...BEFORE.slice(1, 2)] });
  expect(other).toMatchObject({ why: 'first_turn' });
});

test('a few tokens that are read again are not a loss, because engines keep whole blocks', () => {
  const { read } = machines();
  read(TURN);
  expect(read(next(), { cached: 9700, input: 12_000 })).toBeNull();
});

test('a machine that does not report what it had in its cache is not said to have lost any', () => {
  const { memory, read } = machines();
  read(TURN);
  memory.of('a').delete('tells_reuse');
  expect(read(next())).toBeNull();
});

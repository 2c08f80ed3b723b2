import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { isBadRequest, parseChatRequest } from '../../../main/gateway/protocols/chat-request.ts';
import { chainOf, hashIsReady } from '../../../main/gateway/protocols/prompt-chain.ts';
import { EMBEDDINGS } from '../../../main/gateway/protocols/endpoints.ts';
import { createMemory } from '../../../main/gateway/memory/memory.ts';
import type { LocalOption } from '../../../main/gateway/routing/machine-choice.ts';
import { cachedPrefix, notePrompt } from '../../../main/gateway/routing/lessons.ts';
import { lengthOf } from '../../../main/gateway/protocols/prompt-length.ts';
import { exceedsWindow, noteLength, windowAt } from '../../../main/gateway/routing/windows.ts';
import { characters } from '../../support/characters.ts';
import { createManualClock } from '../../support/clock.ts';

await hashIsReady;

function requestOf(body: object, endpoint?: Parameters<typeof parseChatRequest>[1]) {
  const request = parseChatRequest(Buffer.from(JSON.stringify(body)), endpoint);
  if (isBadRequest(request)) throw new Error(request.message);
  return request;
}

const saying = (content: unknown, more: object = {}) =>
  requestOf({ model: 'm', messages: [{ role: 'user', content }], ...more });

const words = (count: number) => 'bakery '.repeat(count);

const windowOf = (declared: number | null = 2048) => ({ context_length: declared });

/** An engine that has reported the tokens of these prompts. */
function engineAfter(...reports: readonly (readonly [text: string, tokens: number])[]) {
  const clock = createManualClock();
  const known = createMemory(clock).of('local');
  const report = (text: string, tokens: number, window: number | null = 2048) => {
    const request = saying(text);
    const call = { model: 'm', request, window, prefix: null };
    return noteLength(known, call, tokens);
  };
  for (const [text, tokens] of reports) report(text, tokens);
  const exceeds = (at: ReturnType<typeof windowOf>, request: ReturnType<typeof saying>) =>
    exceedsWindow({ known, model: 'm', facts: at, form: { request } } as LocalOption);
  return { clock, known, exceeds, report };
}

const least = (body: object) =>
  lengthOf(requestOf({ model: 'm', messages: [{ role: 'user' }], ...body }))?.leastTokens;

test('a prompt has at least nine tenths as many tokens as words, in texts and in parts, whatever parts them', () => {
  const content = `${words(50)}\n${words(30)}\t${words(20)}`;
  expect(least({ messages: [{ role: 'user', content }] })).toBe(90);
  const parts = [
    { type: 'text', text: words(60) },
    { type: 'text', text: words(40) },
  ];
  expect(least({ messages: [{ role: 'user', content: parts }] })).toBe(90);
  expect(least({ system: words(100) })).toBe(90);
});

test('the fewest tokens of a prompt are counted in its first 4 MiB, which is more than windows hold', () => {
  const most = (0.9 * 4 * 1024 * 1024) / 2;
  const content = 'a '.repeat(3 * 1024 * 1024);
  expect(least({ messages: [{ role: 'user', content }] })).toBeLessThanOrEqual(most);
  expect(least({ messages: [{ role: 'user', content }] })).toBeGreaterThan(most - 100);
});

test('the fewest tokens of a prompt leave out what a template may: names, reasoning, calls and schemas', () => {
  const message = { role: 'assistant', reasoning_content: words(500), content: words(10) };
  const call = { id: 'x', function: { name: 'f', arguments: words(500) } };
  const messages = [message, { role: 'assistant', content: null, tool_calls: [call] }];
  const schema = { type: 'json_schema', json_schema: { description: words(500) } };
  expect(least({ messages, response_format: schema, tools: [{ x: words(500) }] })).toBe(9);
});

test('the fewest tokens of a prompt are never more than its words, in whatever JSON', () => {
  const text = characters(200);
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 5 }), (contents) => {
      const messages = contents.map((content) => ({ role: 'user', content }));
      const most = contents.reduce(
        (sum, content) => sum + content.split(/[ \n\t\r\f\b]+/).filter(Boolean).length,
        0,
      );
      expect(least({ messages })).toBe(Math.floor(0.9 * most));
    }),
  );
});

test('a machine is skipped for a prompt that surely does not fit its window, and for no other', () => {
  const { exceeds } = engineAfter();
  const has = (count: number) => exceeds(windowOf(), saying(words(count)));
  expect([has(3000), has(2300), has(2200), has(10)]).toEqual([true, true, false, false]);
});

test('a machine is called for a prompt with images, whose tokens no byte tells, and for what is not a chat', () => {
  const { exceeds } = engineAfter();
  const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
  const parts = [{ type: 'text', text: words(3000) }, picture];
  expect(exceeds(windowOf(), saying(parts))).toBe(false);
  const vectors = requestOf({ model: 'm', input: words(3000) }, EMBEDDINGS);
  expect(exceeds(windowOf(), vectors)).toBe(false);
});

test('a prompt in a language without blanks is judged once its tokens for each letter are learned', () => {
  const { exceeds, report } = engineAfter();
  const text = (chars: number) => '語'.repeat(chars);
  const has = (chars: number) => exceeds(windowOf(), saying(text(chars)));
  for (const chars of [400, 500, 600, 700]) report(text(chars), chars);
  expect(has(7000)).toBe(false);
  report(text(800), 800);
  expect([has(7000), has(2100)]).toEqual([true, false]);
});

test('an engine that cut prompts is trusted again with another window, or after a longer prompt', () => {
  const caught = () => engineAfter([words(9000), 4096], [words(11_000), 4096]);
  const skips = ({ exceeds }: ReturnType<typeof caught>, length: number | null) =>
    exceeds(windowOf(length), saying(words(9000)));
  const larger = caught();
  expect([skips(larger, 2048), skips(larger, 32_768)]).toEqual([true, false]);
  const later = engineAfter();
  for (const count of [9000, 11_000]) later.report(words(count), 4096, null);
  expect(skips(later, null)).toBe(true);
  later.report(words(9500), 9500, null);
  expect(skips(later, null)).toBe(false);
});

/** The window that is learnt from prompts of a system prompt and messages, by the words of each. */
function windowAfter(
  prompts: readonly (readonly [system: string, words: readonly number[]])[],
  window: number | null = null,
  keepsChain = true,
) {
  const { clock, known } = engineAfter();
  for (const [n, [system, counts]] of prompts.entries()) {
    const messages = [
      { role: 'system', content: `${system} `.repeat(7000) },
      ...counts.map((count, at) => ({
        role: 'user',
        content: `${counts.length === 1 ? n : at} ${words(count)}`,
      })),
    ];
    const request = requestOf({ model: 'm', messages });
    const chain = keepsChain ? chainOf(request, {}) : null;
    const prefix = chain === null ? null : cachedPrefix(known, chain);
    const call = { model: 'm', request, window, prefix };
    noteLength(known, call, counts.at(-1) ?? 0);
    if (chain !== null) notePrompt(known, chain, { model: 'm', readAt: clock.ticks() });
  }
  return windowAt(known, 'm', window);
}
const many = <T>(make: (n: number) => T) => Array.from({ length: 12 }, (_, n) => make(n));
const BATCH = many(() => ['a', [2500]] as const);
const TALK = many((n) => ['a', many(() => 2500).slice(0, n + 1)] as const);

test.each<[what: string, window: number | null]>([
  ['items of a batch', windowAfter(BATCH)],
  ['small items of a batch', windowAfter(many((n) => [`a${n % 2}`, [620]]))],
  ['a conversation', windowAfter(TALK)],
  ['two batches in turn', windowAfter(many((n) => [`a${n % 2}`, [2500]]))],
  ['items of a batch, without affinity', windowAfter(BATCH, null, false)],
  ['a conversation, without affinity, in a declared window', windowAfter(TALK, 65_536, false)],
])('nothing small is learnt of its window from %s', (_what, window) => {
  expect(window === null || window === 65_536).toBe(true);
});

import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ModelFacts } from '#shared/models.ts';
import { modelFacts } from '../../../main/engines/models.ts';
import { isBadRequest, parseChatRequest } from '../../../main/gateway/protocols/chat-request.ts';
import { EMBEDDINGS } from '../../../main/gateway/protocols/endpoints.ts';
import { lengthOf } from '../../../main/gateway/protocols/least-tokens.ts';
import { type CutPrompt, createWindows } from '../../../main/gateway/routing/windows.ts';
import { type LocalTarget, parseBaseAddress } from '../../../main/gateway/upstream/upstreams.ts';
import { createManualClock } from '../../support/clock.ts';

function requestOf(body: object, endpoint?: Parameters<typeof parseChatRequest>[1]) {
  const request = parseChatRequest(Buffer.from(JSON.stringify(body)), endpoint);
  if (isBadRequest(request)) throw new Error(request.message);
  return request;
}

const saying = (content: unknown, more: object = {}) =>
  requestOf({ model: 'm', messages: [{ role: 'user', content }], ...more });

const words = (count: number) => 'bakery '.repeat(count);

function targetOf(facts: Partial<ModelFacts> = {}): LocalTarget {
  const baseAddress = parseBaseAddress('http://e.test', 'local');
  const model = modelFacts('m', { loaded: true, context_length: 2048, ...facts });
  return {
    provider: null,
    baseAddress,
    models: ['m'],
    facts: [model],
    ownedBy: null,
    gatewayToken: null,
  };
}

/** Windows that have seen this. */
function windowsAfter(...told: readonly (readonly [text: string, tokens: number])[]) {
  const clock = createManualClock();
  const caught: CutPrompt[] = [];
  const windows = createWindows(clock, (cut) => caught.push(cut));
  const tell = (text: string, inputTokens: number, declared: number | null = 2048) =>
    windows.told({ id: 'local', model: 'm', request: saying(text), inputTokens }, declared);
  for (const [text, tokens] of told) tell(text, tokens);
  return { clock, windows, caught, tell };
}

describe('the fewest tokens of a prompt', () => {
  const least = (body: object) => {
    const { bytes, members } = requestOf({ model: 'm', messages: [{ role: 'user' }], ...body });
    return lengthOf(bytes, members).leastTokens;
  };

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

  test('the fewest tokens of a prompt leave out what a template may: names, reasoning, calls and schemas', () => {
    const message = { role: 'assistant', reasoning_content: words(500), content: words(10) };
    const call = { id: 'x', function: { name: 'f', arguments: words(500) } };
    const messages = [message, { role: 'assistant', content: null, tool_calls: [call] }];
    const schema = { type: 'json_schema', json_schema: { description: words(500) } };
    expect(least({ messages, response_format: schema, tools: [{ x: words(500) }] })).toBe(9);
  });

  test('the fewest tokens of a prompt are never more than its words, in whatever JSON', () => {
    const text = fc.string({ unit: 'binary', maxLength: 200 });
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
});

describe('prompts and windows', () => {
  test('a machine is skipped for a prompt that surely does not fit its window, and for no other', () => {
    const { windows } = windowsAfter();
    const exceeds = (count: number) => windows.exceeds(targetOf(), saying(words(count)));
    expect([exceeds(3000), exceeds(2300), exceeds(2200), exceeds(10)]).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  test('a machine is called for a prompt with images, whose tokens no byte tells, and for what is not a chat', () => {
    const { windows } = windowsAfter();
    const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
    const parts = [{ type: 'text', text: words(3000) }, picture];
    expect(windows.exceeds(targetOf(), saying(parts))).toBe(false);
    const vectors = requestOf({ model: 'm', input: words(3000) }, EMBEDDINGS);
    expect(windows.exceeds(targetOf(), vectors)).toBe(false);
  });

  test('a prompt in a language without blanks is judged once its tokens for each letter are learned', () => {
    const { windows, tell } = windowsAfter();
    const text = (chars: number) => '語'.repeat(chars);
    const exceeds = () => windows.exceeds(targetOf(), saying(text(7000)));
    for (const chars of [400, 500, 600, 700]) tell(text(chars), chars);
    expect(exceeds()).toBe(false);
    tell(text(800), 800);
    expect(exceeds()).toBe(true);
    expect(windows.exceeds(targetOf(), saying(text(2100)))).toBe(false);
  });
});

test('an engine that cut prompts is trusted again with another window, after a longer prompt, or after an hour', () => {
  const again = () => {
    const { tell, ...rest } = windowsAfter([words(9000), 4096], [words(9000), 4096]);
    return { ...rest, tell };
  };
  const exceeds = (windows: ReturnType<typeof again>['windows'], length: number) =>
    windows.exceeds(targetOf({ context_length: length }), saying(words(9000)));
  const larger = again();
  expect([exceeds(larger.windows, 2048), exceeds(larger.windows, 32_768)]).toEqual([true, false]);
  const reads = again();
  const unknown = targetOf({ context_length: 2048 });
  reads.tell(words(5000), 6000);
  expect(reads.windows.exceeds(unknown, saying(words(9000)))).toBe(true);
  const later = windowsAfter();
  later.tell(words(9000), 4096, null);
  later.tell(words(9000), 4096, null);
  const target = targetOf({ context_length: null });
  expect(later.windows.exceeds(target, saying(words(9000)))).toBe(true);
  later.clock.advance(3_600_001);
  expect(later.windows.exceeds(target, saying(words(9000)))).toBe(false);
});

import * as fc from 'fast-check';

/** One answer of a model, in the order in which engines send it. */
export interface Said {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly SaidCall[];
  readonly finish: 'stop' | 'length' | 'tool_calls' | 'content_filter';
  readonly usage: { readonly input: number; readonly cached: number; readonly output: number };
}

interface SaidCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

export const SAID: Said = {
  reasoning: '',
  text: 'Hello.',
  calls: [],
  finish: 'stop',
  usage: { input: 12, cached: 4, output: 7 },
};

/** Two calls of one tool, and what the upstream is told with their results, in chat form. */
export const CALLS_TWICE: Said = {
  ...SAID,
  text: '',
  reasoning: 'Look it up.',
  calls: [
    { id: 'call_1', name: 'weather', arguments: '{"city":"Oslo"}' },
    { id: 'call_2', name: 'weather', arguments: '{"city":"Bergen"}' },
  ],
  finish: 'tool_calls',
};
/** What the engine is sent afterwards; a thought that is not signed never goes to a hosted API that speaks the protocol. */
export const calledTwice = ({ place, way }: { readonly place: string; readonly way: string }) => [
  { role: 'user' },
  {
    role: 'assistant',
    ...(place === 'local' || way === 'translated' ? { reasoning_content: 'Look it up.' } : {}),
    tool_calls: [{}, {}],
  },
  { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
  { role: 'tool', tool_call_id: 'call_2', content: 'rain' },
];

const usageOf = ({ input, cached, output }: Said['usage']) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: cached },
  completion_tokens_details: { reasoning_tokens: 1 },
});

const head = { id: 'chatcmpl-1', created: 1_700_000_000, model: 'engine-model' };

/** As a whole chat completion. */
export function completionOf(said: Said): object {
  const message = {
    role: 'assistant',
    content: said.text === '' ? null : said.text,
    ...(said.reasoning !== '' && { reasoning_content: said.reasoning }),
    ...(said.calls.length > 0 && {
      tool_calls: said.calls.map(({ id, ...call }) => ({ id, type: 'function', function: call })),
    }),
  };
  return {
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: said.finish, logprobs: null }],
    usage: usageOf(said.usage),
  };
}

/** As the chunks of a stream, its texts in pieces of so many characters. */
export function chunksOf(said: Said, pieceChars: number): object[] {
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason }],
  });
  const calls = said.calls.flatMap(({ id, name, arguments: json }, index) => [
    { index, id, type: 'function', function: { name, arguments: '' } },
    ...pieces(json, pieceChars).map((piece) => ({ index, function: { arguments: piece } })),
  ]);
  return [
    chunk({ role: 'assistant', content: '' }),
    ...pieces(said.reasoning, pieceChars).map((piece) => chunk({ reasoning_content: piece })),
    ...pieces(said.text, pieceChars).map((piece) => chunk({ content: piece })),
    ...calls.map((call) => chunk({ tool_calls: [call] })),
    chunk({}, said.finish),
    { ...head, object: 'chat.completion.chunk', choices: [], usage: usageOf(said.usage) },
  ];
}

/** Cut between UTF-16 units, as engines never do but chunks may. */
function pieces(text: string, chars: number): string[] {
  const all: string[] = [];
  for (let at = 0; at < text.length; at += chars) all.push(text.slice(at, at + chars));
  return all;
}

/** Any text that is not empty. */
export const words = fc
  .array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }), {
    minLength: 1,
    maxLength: 4,
  })
  .map((all) => all.join(' '));

const name = fc.stringMatching(/^[a-z][a-z_0-9]{0,12}$/);

export const callArbitrary = fc.record({
  id: fc.uuid().map((id) => `call_${id}`),
  name,
  arguments: fc
    .dictionary(name, fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)))
    .map((value) => JSON.stringify(value)),
});

export const saidArbitrary: fc.Arbitrary<Said> = fc
  .record({
    reasoning: fc.oneof(fc.constant(''), words),
    text: fc.oneof(fc.constant(''), words),
    calls: fc.uniqueArray(callArbitrary, { maxLength: 3, selector: ({ id }) => id }),
    finish: fc.constantFrom('stop' as const, 'length' as const, 'content_filter' as const),
    usage: fc.record({ input: fc.nat(9999), cached: fc.nat(99), output: fc.nat(9999) }),
  })
  .map((said) => ({
    ...said,
    finish: said.calls.length > 0 && said.finish === 'stop' ? 'tool_calls' : said.finish,
    usage: { ...said.usage, input: said.usage.input + said.usage.cached },
  }));

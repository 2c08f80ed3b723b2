import * as fc from 'fast-check';

/** One answer of a model, in the order in which engines send it. */
export interface Reply {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly ModelCall[];
  readonly finish: 'stop' | 'length' | 'tool_calls' | 'content_filter';
  readonly usage: { readonly input: number; readonly cached: number; readonly output: number };
}

interface ModelCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

export const SAID: Reply = {
  reasoning: '',
  text: 'Hello.',
  calls: [],
  finish: 'stop',
  usage: { input: 12, cached: 4, output: 7 },
};

/** Two calls of one tool, and what the upstream is told with their results, in chat form. */
export const CALLS_TWICE: Reply = {
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

export const saidArbitrary: fc.Arbitrary<Reply> = fc
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

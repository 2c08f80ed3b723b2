import * as fc from 'fast-check';
import { callArbitrary, words } from '../../../support/chat-answers.ts';

/**
 * Requests in the one form of several that say the same: texts alone as one string, system texts in one place, results
 * before what the user adds.
 */

type Json = Record<string, unknown>;

/** Fields that may be left out. */
const some = (fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<Json> =>
  fc.record(fields, { requiredKeys: [] });

const image = fc
  .oneof(
    fc.webUrl(),
    fc.base64String({ minLength: 4 }).map((data) => `data:image/png;base64,${data}`),
  )
  .filter((url) => url.length > 0);

const schema = fc.constant({ type: 'object', properties: { at: { type: 'string' } } });
const toolName = fc.stringMatching(/^[a-z]{1,8}$/);
/** No two of one name, which every API refuses. */
const toolsOf = <T>(tool: fc.Arbitrary<T>) =>
  fc.uniqueArray(fc.tuple(toolName, tool), { maxLength: 2, selector: ([name]) => name });
const sampling = {
  temperature: fc.double({ min: 0, max: 2, noNaN: true }),
  top_p: fc.double({ min: 0, max: 1, noNaN: true }),
};

/** Of a user that is not sent as a digest. */
const shortWords = words.filter(({ length }) => length <= 64);

/** The model's and its tools' part between two messages of the user. */
const turn = fc
  .record({
    reasoning: fc.option(words, { nil: null }),
    texts: fc.array(words, { maxLength: 2 }),
    calls: fc.uniqueArray(callArbitrary, { maxLength: 3, selector: ({ id }) => id }),
    results: fc.array(words, { minLength: 3, maxLength: 3 }),
  })
  .filter(({ texts, calls }) => texts.length + calls.length > 0);

type Turn = typeof turn extends fc.Arbitrary<infer T> ? T : never;

const question = fc.record({
  texts: fc.array(words, { minLength: 1, maxLength: 2 }),
  images: fc.array(image, { maxLength: 2 }),
});

type Question = typeof question extends fc.Arbitrary<infer T> ? T : never;

const joined = (texts: readonly string[]) => texts.join('\n');

/** Only beside images, several texts stay apart. */
const textsOf = ({ texts, images }: Question) => (images.length === 0 ? [joined(texts)] : texts);

const talk = fc.array(fc.tuple(question, turn), { minLength: 1, maxLength: 3 });

// ---- Responses

function responsesQuestion(asked: Question): Json {
  const texts = textsOf(asked);
  const parts = [
    ...texts.map((text) => ({ type: 'input_text', text })),
    ...asked.images.map((url) => ({ type: 'input_image', image_url: url, detail: 'auto' })),
  ];
  return { type: 'message', role: 'user', content: parts.length === 1 ? texts[0] : parts };
}

function responsesTurn({ reasoning, texts, calls, results }: Turn): Json[] {
  return [
    ...(reasoning === null
      ? []
      : [{ type: 'reasoning', summary: [{ type: 'summary_text', text: reasoning }] }]),
    ...(texts.length === 0 ? [] : [{ type: 'message', role: 'assistant', content: joined(texts) }]),
    ...calls.map(({ id, name, arguments: json }) => ({
      type: 'function_call',
      call_id: id,
      name,
      arguments: json,
    })),
    ...calls.map(({ id }, index) => ({
      type: 'function_call_output',
      call_id: id,
      output: results[index],
    })),
  ];
}

const responsesTools = some({ description: words, parameters: schema, strict: fc.boolean() });

export const responsesRequest: fc.Arbitrary<Json> = fc
  .record({
    talk,
    settings: some({
      ...sampling,
      instructions: words,
      max_output_tokens: fc.nat(9999),
      user: shortWords,
      reasoning: fc.record({ effort: fc.constantFrom('none', 'low', 'medium', 'high', 'xhigh') }),
      text: some({
        verbosity: fc.constantFrom('low', 'high'),
        format: fc.oneof(
          fc.constant({ type: 'json_object' }),
          fc.record({
            type: fc.constant('json_schema'),
            name: toolName,
            schema,
            strict: fc.boolean(),
          }),
        ),
      }).filter((text) => Object.keys(text).length > 0),
      stream: fc.constant(true),
    }),
    tools: toolsOf(responsesTools),
    choice: some({
      tool_choice: fc.oneof(
        fc.constantFrom('none', 'auto', 'required'),
        toolName.map((name) => ({ type: 'function', name })),
      ),
      parallel_tool_calls: fc.boolean(),
    }),
  })
  .map(({ talk: rounds, settings, tools, choice }) => ({
    model: 'asked',
    ...settings,
    input: rounds.flatMap(([asked, said]) => [responsesQuestion(asked), ...responsesTurn(said)]),
    ...(tools.length > 0 && {
      tools: tools.map(([name, tool]) => ({ type: 'function', name, ...tool })),
      ...choice,
    }),
  }));

// ---- Messages

const messagesImage = (url: string) => {
  const [, media_type, data] = /^data:([^;]+);base64,(.*)$/.exec(url) ?? [];
  const source = data === undefined ? { type: 'url', url } : { type: 'base64', media_type, data };
  return { type: 'image', source };
};

function messagesTurn({ reasoning, texts, calls }: Turn): Json {
  const blocks = [
    ...(reasoning === null
      ? []
      : [{ type: 'thinking', thinking: reasoning, signature: 'unsigned' }]),
    ...(texts.length === 0 ? [] : [{ type: 'text', text: joined(texts) }]),
    ...calls.map(({ id, name, arguments: json }) => ({
      type: 'tool_use',
      id,
      name,
      input: JSON.parse(json) as unknown,
    })),
  ];
  const isText = blocks.length === 1 && texts.length > 0;
  return { role: 'assistant', content: isText ? joined(texts) : blocks };
}

/** The results of the turn before, and what the user says next. */
function messagesQuestion(asked: Question, before: Turn | undefined): Json {
  const results = (before?.calls ?? []).map(({ id }, index) => ({
    type: 'tool_result',
    tool_use_id: id,
    content: before?.results[index],
    // Every third tool failed.
    ...(index === 2 && { is_error: true }),
  }));
  const texts = textsOf(asked);
  const blocks = [
    ...results,
    ...texts.map((text) => ({ type: 'text', text })),
    ...asked.images.map(messagesImage),
  ];
  return { role: 'user', content: blocks.length === 1 ? texts[0] : blocks };
}

const messagesTools = some({ description: words, strict: fc.boolean() });

export const messagesRequest: fc.Arbitrary<Json> = fc
  .record({
    talk,
    last: question,
    settings: some({
      ...sampling,
      top_k: fc.nat(100),
      system: words,
      stop_sequences: fc.array(words, { minLength: 1, maxLength: 2 }),
      metadata: fc.record({ user_id: shortWords }),
      output_config: some({
        effort: fc.constantFrom('low', 'medium', 'high', 'max'),
        format: fc.record({ type: fc.constant('json_schema'), schema }),
      }).filter((config) => Object.keys(config).length > 0),
      stream: fc.constant(true),
    }),
    tools: toolsOf(messagesTools),
    choice: some({
      tool_choice: fc.oneof(
        fc.constantFrom({ type: 'none' }, { type: 'auto' }, { type: 'any' }),
        toolName.map((name) => ({ type: 'tool', name, disable_parallel_tool_use: true })),
      ),
    }),
  })
  .map(({ talk: rounds, last, settings, tools, choice }) => ({
    model: 'asked',
    max_tokens: 100,
    ...settings,
    messages: [
      ...rounds.flatMap(([asked, said], index) => [
        messagesQuestion(asked, rounds[index - 1]?.[1]),
        messagesTurn(said),
      ]),
      messagesQuestion(last, rounds.at(-1)?.[1]),
    ],
    ...(tools.length > 0 && {
      tools: tools.map(([name, tool]) => ({ name, ...tool, input_schema: { type: 'object' } })),
      ...choice,
    }),
  }));

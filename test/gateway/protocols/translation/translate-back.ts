import type { Said } from '../../../support/chat-answers.ts';

/** The way back of `main/gateway/translation/`, which only tests need. */

type Json = Record<string, unknown>;

interface ChatMessage {
  readonly role: string;
  readonly content: unknown;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly { id: string; function: { name: string; arguments: string } }[];
  readonly tool_call_id?: string;
}

interface ChatRequest extends Json {
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly { readonly function: Json }[];
}

/** Only what is there. */
const present = (fields: Json): Json =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

const partsOf = (content: unknown): Json[] =>
  typeof content === 'string'
    ? [{ type: 'text', text: content }]
    : ((content as Json[] | null) ?? []);

export function responsesFromChat(body: ChatRequest): Json {
  const { messages, tools, stream_options: _usage, max_tokens, ...rest } = body;
  const {
    reasoning_effort: effort,
    response_format: format,
    verbosity,
    tool_choice,
    ...same
  } = rest;
  const [first] = messages;
  const instructions = first?.role === 'system' ? first.content : undefined;
  const said = instructions === undefined ? messages : messages.slice(1);
  return present({
    ...same,
    instructions,
    input: said.flatMap(itemsOf),
    max_output_tokens: max_tokens,
    reasoning: effort === undefined ? undefined : { effort },
    text: format || verbosity ? present({ format: formatOf(format), verbosity }) : undefined,
    tools: tools?.map((tool) => ({ type: 'function', ...tool.function })),
    tool_choice: choiceOf(tool_choice),
  });
}

function formatOf(format: unknown): unknown {
  const { type, json_schema } = (format ?? {}) as { type?: string; json_schema?: Json };
  return json_schema === undefined ? format : { type, ...json_schema };
}

function choiceOf(choice: unknown): unknown {
  if (typeof choice !== 'object') return choice;
  return { type: 'function', ...(choice as { function: Json }).function };
}

function itemsOf(message: ChatMessage): Json[] {
  const { role, content, reasoning_content: reasoning, tool_calls: calls = [] } = message;
  if (role === 'tool') {
    return [{ type: 'function_call_output', call_id: message.tool_call_id, output: content }];
  }
  if (role === 'user') {
    const parts = partsOf(content).map((part) =>
      part['type'] === 'text'
        ? { type: 'input_text', text: part['text'] }
        : { type: 'input_image', image_url: (part['image_url'] as Json)['url'], detail: 'auto' },
    );
    return [{ type: 'message', role, content: typeof content === 'string' ? content : parts }];
  }
  const said = partsOf(content).map(({ text }) => ({ type: 'output_text', text }));
  return [
    ...(reasoning === undefined
      ? []
      : [{ type: 'reasoning', summary: [{ type: 'summary_text', text: reasoning }] }]),
    ...(content === null
      ? []
      : [{ type: 'message', role, content: typeof content === 'string' ? content : said }]),
    ...calls.map(({ id, function: called }) => ({ type: 'function_call', call_id: id, ...called })),
  ];
}

export function messagesFromChat(body: ChatRequest): Json {
  const { messages, tools, stream_options: _usage, stop, user, reasoning_effort, ...rest } = body;
  const { response_format: format, tool_choice, parallel_tool_calls: parallel, ...same } = rest;
  const [first] = messages;
  const system = first?.role === 'system' ? first.content : undefined;
  const schema = (format as { json_schema: { schema: Json } } | undefined)?.json_schema.schema;
  const config = present({
    effort: reasoning_effort,
    format: schema && { type: 'json_schema', schema },
  });
  return present({
    ...same,
    system,
    messages: turnsOf(system === undefined ? messages : messages.slice(1)),
    stop_sequences: stop,
    metadata: user === undefined ? undefined : { user_id: user },
    output_config: Object.keys(config).length > 0 ? config : undefined,
    tools: tools?.map((tool) => {
      const { parameters: input_schema, ...others } = tool.function;
      return { ...others, input_schema };
    }),
    tool_choice: messagesChoice(tool_choice, parallel),
  });
}

function messagesChoice(choice: unknown, parallel: unknown): unknown {
  if (choice === undefined) return undefined;
  if (choice === 'required') return { type: 'any' };
  if (typeof choice === 'string') return { type: choice };
  const { name } = (choice as { function: { name: string } }).function;
  return { type: 'tool', name, ...(parallel === false && { disable_parallel_tool_use: true }) };
}

function turnsOf(messages: readonly ChatMessage[]): Json[] {
  const turns: { role: string; blocks: Json[] }[] = [];
  for (const message of messages) {
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const last = turns.at(-1);
    if (last?.role === role) last.blocks.push(...blocksOf(message));
    else turns.push({ role, blocks: blocksOf(message) });
  }
  return turns.map(({ role, blocks }) => {
    const [only] = blocks;
    const isText = blocks.length === 1 && only?.['type'] === 'text';
    return { role, content: isText ? only['text'] : blocks };
  });
}

function blocksOf(message: ChatMessage): Json[] {
  const { role, content, reasoning_content: thinking, tool_calls: calls = [] } = message;
  if (role === 'tool') {
    const text = content as string;
    const failed = text.startsWith('Error: ');
    const said = failed ? text.slice('Error: '.length) : text;
    const head = { type: 'tool_result', tool_use_id: message.tool_call_id, content: said };
    return [failed ? { ...head, is_error: true } : head];
  }
  return [
    ...(thinking === undefined ? [] : [{ type: 'thinking', thinking, signature: 'unsigned' }]),
    ...partsOf(content).map((part) => (part['type'] === 'text' ? part : imageBlock(part))),
    ...calls.map(({ id, function: { name, arguments: json } }) => ({
      type: 'tool_use',
      id,
      name,
      input: JSON.parse(json) as unknown,
    })),
  ];
}

function imageBlock(part: Json): Json {
  const { url } = part['image_url'] as { url: string };
  const [, media_type, data] = /^data:([^;]+);base64,(.*)$/.exec(url) ?? [];
  const source = data === undefined ? { type: 'url', url } : { type: 'base64', media_type, data };
  return { type: 'image', source };
}

/** The model's part of an answer of the Responses API. */
export function saidInResponse(answer: object): Said {
  const {
    output,
    usage,
    incomplete_details: incomplete,
  } = answer as {
    output: (Json & { type: string })[];
    usage: {
      input_tokens: number;
      output_tokens: number;
      input_tokens_details: { cached_tokens: number };
    };
    incomplete_details: { reason: string } | null;
  };
  const of = (type: string) => output.filter((item) => item.type === type);
  const calls = of('function_call').map((call) => ({
    id: call['call_id'] as string,
    name: call['name'] as string,
    arguments: call['arguments'] as string,
  }));
  const textIn = (item: Json, key: string) =>
    (item[key] as { text: string }[]).map(({ text }) => text).join('');
  const other = calls.length > 0 ? 'tool_calls' : 'stop';
  const cut = incomplete?.reason === 'max_output_tokens' ? 'length' : 'content_filter';
  return {
    reasoning: of('reasoning')
      .map((item) => textIn(item, 'summary'))
      .join(''),
    text: of('message')
      .map((item) => textIn(item, 'content'))
      .join(''),
    calls,
    finish: incomplete === null ? other : cut,
    usage: {
      input: usage.input_tokens,
      cached: usage.input_tokens_details.cached_tokens,
      output: usage.output_tokens,
    },
  };
}

const FINISHES: Readonly<Record<string, Said['finish']>> = {
  end_turn: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  refusal: 'content_filter',
};

/** The model's part of an answer of the Messages API. */
export function saidInMessage(answer: object): Said {
  const { content, usage, stop_reason } = answer as {
    content: (Json & { type: string })[];
    usage: { input_tokens: number; output_tokens: number; cache_read_input_tokens: number };
    stop_reason: string;
  };
  const textOf = (type: string) =>
    content.map((block) => (block.type === type ? (block[type] as string) : '')).join('');
  const calls = content.filter(({ type }) => type === 'tool_use');
  return {
    reasoning: textOf('thinking'),
    text: textOf('text'),
    calls: calls.map(({ id, name, input }) => ({
      id: id as string,
      name: name as string,
      arguments: JSON.stringify(input),
    })),
    finish: FINISHES[stop_reason] ?? 'stop',
    usage: {
      input: usage.input_tokens + usage.cache_read_input_tokens,
      cached: usage.cache_read_input_tokens,
      output: usage.output_tokens,
    },
  };
}

import { asList, asText, type Json } from '../chaos/events.ts';
import { spoken } from './anthropic.ts';
import {
  type Answered,
  type Dialect,
  extraIn,
  inputOf,
  isThoughtOnly,
  type Refusal,
  strangerIn,
  TOOL,
} from './saying.ts';

interface Broken {
  readonly rule: string;
  readonly message: string;
  readonly param?: string;
  readonly code?: string;
  readonly status?: number;
}

function refusalOf(faults: Generator<Broken>): Refusal | null {
  for (const { rule, message, param = null, code = null, status = 400 } of faults)
    return {
      rule,
      status,
      body: { error: { message, type: 'invalid_request_error', param, code } },
    };
  return null;
}

const tooLong = (param: string, text: string, limit: number): Broken => ({
  rule: 'length of ids',
  message: `Invalid '${param}': string too long. Expected a string with maximum length ${limit}, but got a string with length ${text.length} instead.`,
  param,
  code: 'string_above_max_length',
});

const FIELDS: Readonly<Record<string, readonly string[]>> = {
  message: ['type', 'id', 'role', 'content', 'status', 'phase'],
  reasoning: ['type', 'id', 'summary', 'content', 'encrypted_content'],
  function_call: ['type', 'id', 'call_id', 'name', 'arguments', 'status', 'namespace'],
  function_call_output: ['type', 'id', 'call_id', 'output', 'status'],
};

const PREFIXES: Readonly<Record<string, string>> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
};

interface Issued {
  readonly seal: string | null;
  readonly isStored: boolean;
  /** The thought that it came with. */
  readonly thought: string | null;
}

/**
 * OpenAI's Responses API as strict with a conversation as the real one. Words as in BerriAI/litellm#13420 (status of
 * thoughts), vercel/ai#7099 and continuedev/continue#8933 and #11994 (what thoughts belong to), AnswerDotAI/fastllm#45
 * (length of ids).
 */
export function createResponses(): Dialect {
  const issued = new Map<unknown, Issued>();
  const seals = new Set<unknown>();
  let count = 0;
  const next = (kind: string) => `${kind}_68${String((count += 1)).padStart(30, 'a')}`;

  function* faults(body: Json): Generator<Broken> {
    const items = asList(body['input']);
    const ids = items.flatMap(({ id }) => (id === undefined ? [] : [id]));
    const twice = ids.find((id, at) => ids.indexOf(id) < at);
    if (twice !== undefined)
      yield {
        rule: 'ids said twice',
        message: `Duplicate item found with id ${asText(twice)}. Remove duplicate items from your input and try again.`,
      };
    for (const [at, item] of items.entries()) yield* itemFaults(item, `input[${at}]`);
    yield* pairFaults(items);
    for (const [at, { id, type }] of items.entries()) {
      if (type === 'reasoning' && !isFollowed(id, items[at + 1]))
        yield {
          rule: 'lone thought',
          message: `Item '${asText(id)}' of type 'reasoning' was provided without its required following item.`,
        };
      const thought = issued.get(id)?.thought ?? null;
      if (thought !== null && !ids.includes(thought))
        yield {
          rule: 'without its thought',
          message: `Item '${asText(id)}' of type '${asText(type)}' was provided without its required 'reasoning' item: '${thought}'.`,
        };
    }
  }

  /** Codex sends no ids, and is understood. */
  const isFollowed = (id: unknown, behind: Json | undefined) =>
    id === undefined
      ? behind?.['role'] === 'assistant' || behind?.['type'] === 'function_call'
      : issued.get(behind?.['id'])?.thought === id;

  function* itemFaults(item: Json, place: string): Generator<Broken> {
    const type = asText(item['type'] ?? 'message');
    const { id, call_id: callId, encrypted_content: sealed = null } = item;
    yield* formFaults(item, type, place);
    if (asText(callId).length > 64) yield tooLong(`${place}.call_id`, asText(callId), 64);
    const prefix = PREFIXES[type] ?? '';
    if (id !== undefined && !asText(id).startsWith(`${prefix}_`))
      yield {
        rule: 'foreign id',
        message: `Invalid '${place}.id': '${asText(id)}'. Expected an ID that begins with '${prefix}'.`,
      };
    if (id !== undefined && !issued.has(id)) yield notFound(asText(id));
    if (type === 'reasoning') yield* thoughtFaults(id, sealed);
  }

  function* thoughtFaults(id: unknown, sealed: unknown): Generator<Broken> {
    const origin = issued.get(id);
    const isForeign = id === undefined ? !seals.has(sealed) : sealed !== origin?.seal;
    if (sealed !== null && isForeign)
      yield {
        rule: 'foreign thought',
        message: `The encrypted content ${asText(sealed)} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`,
        code: 'invalid_encrypted_content',
      };
    if (sealed === null && origin?.isStored !== true) yield notFound(asText(id));
  }

  return {
    path: '/responses',
    refusal: (body) => refusalOf(faults(body)),
    answer(saying, body) {
      const asksFor = Array.isArray(body['include']) ? body['include'] : [];
      const isSealed = asksFor.includes('reasoning.encrypted_content');
      const output: Json[] = [];
      let given: string | null = null;
      let thought: string | null = null;
      function add(item: Json & { readonly id: string }, seal: string | null) {
        output.push(item);
        issued.set(item.id, { seal, isStored: body['store'] !== false, thought });
      }
      if (saying.thought !== '') {
        const seal = isSealed ? next('gAAAA') : null;
        const id = next('rs');
        const summary = saying.isHidden ? [] : [{ type: 'summary_text', text: saying.thought }];
        const sealed = seal === null ? {} : { encrypted_content: seal };
        add({ type: 'reasoning', id, summary, ...sealed }, seal);
        seals.add(seal);
        given = seal ?? id;
        thought = id;
      }
      if (saying.text !== '') {
        const part = { type: 'output_text', text: saying.text, annotations: [], logprobs: [] };
        const head = { id: next('msg'), type: 'message', status: 'completed', role: 'assistant' };
        add({ ...head, content: [part] }, null);
      }
      for (const about of saying.asks) {
        const head = { id: next('fc'), type: 'function_call', status: 'completed' };
        const called = { name: TOOL, arguments: JSON.stringify(inputOf(about)) };
        add({ ...head, call_id: next('call'), ...called }, null);
      }
      const isCut = isThoughtOnly(saying);
      // It takes no thought back of which nothing came.
      return {
        ...responseOf(output, next('resp'), isCut),
        said: saying,
        seals: isCut || given === null ? [] : [given],
      };
    },
  };
}

function* formFaults(item: Json, type: string, place: string): Generator<Broken> {
  const known = FIELDS[type];
  if (known === undefined) yield { rule: 'type', message: `Invalid value: '${type}'.` };
  const extra = extraIn(item, known ?? []);
  if (extra !== null)
    yield {
      rule: 'extra',
      message: `Unknown parameter: '${place}.${extra}'.`,
      code: 'unknown_parameter',
    };
  const isSaid = item['role'] === 'assistant';
  const types = isSaid ? ['output_text', 'refusal'] : ['input_text', 'input_image'];
  const stranger = strangerIn(type === 'message' ? item['content'] : item['output'], types);
  if (stranger !== null)
    yield {
      rule: 'type of part',
      message: `Invalid value: '${stranger}'. Supported values are: ${types.join(' and ')}.`,
    };
}

const notFound = (id: string): Broken => ({
  rule: 'foreign id',
  status: 404,
  message: `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
});

function* pairFaults(items: readonly Json[]): Generator<Broken> {
  const open = new Set<unknown>();
  const called = new Set<unknown>();
  for (const { type, call_id: id } of items) {
    if (type === 'function_call') {
      called.add(id);
      open.add(id);
    }
    if (type === 'function_call_output' && !called.has(id))
      yield {
        rule: 'result without call',
        message: `No tool call found for function call output with call_id ${asText(id)}.`,
      };
    if (type === 'function_call_output') open.delete(id);
  }
  for (const id of open)
    yield {
      rule: 'call without result',
      message: `No tool output found for function call ${asText(id)}.`,
    };
}

/** A response, whole and as its events. */
function responseOf(
  output: readonly Json[],
  id: string,
  isCut: boolean,
): Pick<Answered, 'whole' | 'events'> {
  const head = { id, object: 'response', created_at: 1, model: 'm' };
  const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
  const incomplete_details = isCut ? { reason: 'max_output_tokens' } : null;
  const status = isCut ? 'incomplete' : 'completed';
  const whole = { ...head, status, incomplete_details, output, usage };
  const items = output.flatMap((item, output_index) => [
    { type: 'response.output_item.added', output_index, item: { ...item, status: 'in_progress' } },
    { type: 'response.output_item.done', output_index, item },
  ]);
  const begun = { ...head, status: 'in_progress', output: [] };
  const all = [
    { type: 'response.created', response: begun },
    ...items,
    { type: `response.${status}`, response: whole },
  ];
  return { whole, events: all.map((event, at) => ({ sequence_number: at, ...event })) };
}

/**
 * OpenAI's chat completions. Words as in mlflow/mlflow#14410 and chatboxai/chatbox#2079 (no calls), aliasrobotics/cai#111
 * (pairs), vercel/ai#14950 (null) and #5171 (length of ids).
 */
export function createOpenAiChat(): Dialect {
  let count = 0;
  const next = (kind: string) => `${kind}_${String((count += 1)).padStart(24, 'o')}`;
  return {
    path: '/chat/completions',
    refusal: (body) => refusalOf(chatFaults(asList(body['messages']))),
    answer(saying) {
      const said = spoken(saying);
      const message = {
        role: 'assistant',
        content: said.text === '' ? null : said.text,
        refusal: null,
        annotations: [],
        ...(said.asks.length > 0 && { tool_calls: said.asks.map((a) => callOf(next('call'), a)) }),
      };
      return { ...completionOf(message, said.asks.length > 0 ? 'tool_calls' : 'stop'), said };
    },
  };
}

function* chatFaults(messages: readonly Json[]): Generator<Broken> {
  for (const [at, { role, content, tool_calls: calls }] of messages.entries()) {
    const place = `messages[${at}]`;
    const types = role === 'user' ? ['text', 'image_url'] : ['text', 'refusal'];
    const stranger = strangerIn(content, types);
    if (stranger !== null)
      yield {
        rule: 'type of part',
        message: `Invalid value: '${stranger}'. Supported values are: ${types.join(' and ')}.`,
        param: `${place}.content[0].type`,
      };
    if (Array.isArray(calls) && calls.length === 0)
      yield {
        rule: 'no calls',
        message: `Invalid '${place}.tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.`,
        param: `${place}.tool_calls`,
        code: 'empty_array',
      };
    if ((content ?? null) === null && !Array.isArray(calls))
      yield {
        rule: 'null',
        message: `Invalid value for 'content': expected a string, got null.`,
        param: `${place}.content`,
      };
    const long = asList(calls).findIndex(({ id }) => asText(id).length > 40);
    if (long !== -1)
      yield tooLong(`${place}.tool_calls[${long}].id`, asText(asList(calls)[long]?.['id']), 40);
  }
  yield* chatPairFaults(messages);
}

/** Results follow right behind their calls. */
function* chatPairFaults(messages: readonly Json[]): Generator<Broken> {
  const open = new Set<unknown>();
  for (const [at, { role, tool_call_id: id, tool_calls: calls }] of messages.entries()) {
    if (role === 'tool' && !open.delete(id))
      yield {
        rule: 'result without call',
        message: `Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.`,
        param: `messages.[${at}].role`,
      };
    if (role !== 'tool' && open.size > 0) break;
    for (const call of asList(calls)) open.add(call['id']);
  }
  if (open.size > 0)
    yield {
      rule: 'call without result',
      message: `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].map(asText).join(', ')}`,
    };
}

export const callOf = (id: string, about: string) => ({
  id,
  type: 'function',
  function: { name: TOOL, arguments: JSON.stringify(inputOf(about)) },
});

/** A message as a completion, whole and in chunks of which each brings one of its fields. */
export function completionOf(
  message: Json,
  finish_reason: string,
): Pick<Answered, 'whole' | 'events' | 'seals'> {
  const head = { id: 'chatcmpl-1', created: 1, model: 'm' };
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  const chunk = (delta: object, finish: string | null = null) => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const said = ['reasoning_content', 'content'].filter((name) => (message[name] ?? '') !== '');
  const calls = asList(message['tool_calls']).map((call, index) => ({ index, ...call }));
  return {
    whole: {
      ...head,
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason }],
      usage,
    },
    events: [
      chunk({ role: 'assistant', content: '' }),
      ...said.map((name) => chunk({ [name]: message[name] })),
      ...calls.map((call) => chunk({ tool_calls: [call] })),
      chunk({}, finish_reason),
      { ...head, object: 'chat.completion.chunk', choices: [], usage },
    ],
    seals: [],
  };
}

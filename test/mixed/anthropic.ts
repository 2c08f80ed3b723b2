import { asList, asObject, asText, type Json } from '../chaos/events.ts';
import {
  type Answered,
  type Dialect,
  extraIn,
  inputOf,
  isThoughtOnly,
  type Refusal,
  type Saying,
  TOOL,
} from './saying.ts';

interface Broken {
  readonly rule: string;
  readonly message: string;
}

const broken = (rule: string, message: string): Broken => ({ rule, message });

const FIELDS: Readonly<Record<string, readonly string[]>> = {
  text: ['type', 'text', 'citations', 'cache_control'],
  image: ['type', 'source', 'cache_control'],
  tool_use: ['type', 'id', 'name', 'input', 'caller', 'cache_control'],
  tool_result: ['type', 'tool_use_id', 'content', 'is_error', 'cache_control'],
  thinking: ['type', 'thinking', 'signature'],
  redacted_thinking: ['type', 'data'],
};

const OF_ROLE: Readonly<Record<string, readonly string[]>> = {
  // As Claude Code sends them (ollama/ollama#17774).
  system: ['text'],
  user: ['text', 'image', 'tool_result'],
  assistant: ['text', 'tool_use', 'thinking', 'redacted_thinking'],
};

const THOUGHTS: readonly unknown[] = ['thinking', 'redacted_thinking'];
const isThought = ({ type }: Json): boolean => THOUGHTS.includes(type);

function* idFaults(id: unknown, place: string): Generator<Broken> {
  if (!/^[a-zA-Z0-9_-]+$/.test(asText(id))) {
    const what = "String should match pattern '^[a-zA-Z0-9_-]+$'";
    yield broken('pattern of ids', `${place}: ${what}`);
  }
}

interface Turn {
  readonly role: unknown;
  readonly blocks: Json[];
}

/**
 * Anthropic's Messages API as strict with a conversation as the real one. Words as in anthropics/claude-code#6575, #8210
 * and #25959 (pairs), #59812 (texts), #20705 (order of thoughts); microsoft/autogen#6083 (empty messages);
 * BerriAI/litellm#34523 (ids); brainlid/langchain#619 (ids said twice); tombii/better-ccflare#52 (signatures).
 */
export function createMessages(loop: 'turn' | 'message'): Dialect {
  /** Thoughts by their signatures. */
  const signed = new Map<unknown, unknown>();
  let count = 0;
  const next = (kind: string) => `${kind}_01${String((count += 1)).padStart(20, 'A')}`;

  function* faults(body: Json): Generator<Broken> {
    const messages = asList(body['messages']);
    if (messages.find(({ role }) => role !== 'system')?.['role'] !== 'user')
      yield broken('role', 'messages: first message must use the "user" role');
    for (const [at, { role, content }] of messages.entries()) {
      const place = `messages.${at}`;
      const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
      if (!Array.isArray(blocks) || blocks.length === 0 || content === '') {
        const what = 'all messages must have non-empty content except for the optional final';
        yield broken('empty', `${place}: ${what} assistant message`);
      }
      const all = asList(blocks);
      for (const [index, block] of all.entries())
        yield* blockFaults(block, OF_ROLE[asText(role)] ?? [], `${place}.content.${index}`);
      if (all.some(isThought) && !all.slice(0, 1).some(isThought)) {
        const what = 'any thinking blocks, the first block must be `thinking` or';
        yield broken('order', `${place}.content.0: If an assistant message contains ${what}.`);
      }
    }
    yield* turnFaults(merged(messages), asObject(body['thinking'])['type'] === 'enabled');
  }

  function* blockFaults(block: Json, types: readonly string[], place: string): Generator<Broken> {
    const type = asText(block['type']);
    if (!types.includes(type)) yield broken('type', `${place}: Input tag '${type}' found`);
    const extra = extraIn(block, FIELDS[type] ?? []);
    if (extra !== null)
      yield broken('extra', `${place}.${type}.${extra}: Extra inputs are not permitted`);
    switch (type) {
      case 'text':
        if (asText(block['text']).trim() === '')
          yield broken('empty text', 'messages: text content blocks must be non-empty');
        return;
      case 'thinking':
        if (signed.get(block['signature']) !== block['thinking'])
          yield broken('signature', `${place}: Invalid \`signature\` in \`thinking\` block`);
        return;
      case 'redacted_thinking':
        if (!signed.has(block['data']))
          yield broken('signature', `${place}: Invalid \`data\` in \`redacted_thinking\` block`);
        return;
      case 'tool_use':
        yield* idFaults(block['id'], `${place}.tool_use.id`);
        if (typeof block['input'] !== 'object')
          yield broken('input', `${place}.tool_use.input: Input should be a valid dictionary`);
        return;
      case 'tool_result':
        yield* idFaults(block['tool_use_id'], `${place}.tool_result.tool_use_id`);
        if (Array.isArray(block['content']))
          for (const inner of asList(block['content']))
            yield* blockFaults(inner, ['text', 'image'], `${place}.tool_result.content`);
    }
  }

  return {
    path: '/messages',
    refusal: (body) => refusalOf(faults(body)),
    answer(saying, body) {
      const thinks = ['enabled', 'adaptive'].includes(asText(asObject(body['thinking'])['type']));
      const said = thinks ? saying : spoken(saying);
      const content: Json[] = [];
      const seals: string[] = [];
      if (thinks && said.thought !== '') {
        const seal = `${next('Er')}+/==`;
        seals.push(seal);
        signed.set(seal, said.thought);
        if (said.isHidden) content.push({ type: 'redacted_thinking', data: seal });
        else content.push({ type: 'thinking', thinking: said.thought, signature: seal });
      }
      if (said.text !== '') content.push({ type: 'text', text: said.text });
      for (const about of said.asks)
        content.push({ type: 'tool_use', id: next('toolu'), name: TOOL, input: inputOf(about) });
      const called = said.asks.length > 0 ? 'tool_use' : 'end_turn';
      const stop = isThoughtOnly(said) ? 'max_tokens' : called;
      return { ...messageOf(content, next('msg'), stop), said, seals };
    },
  };

  function* turnFaults(turns: readonly Turn[], thinks: boolean): Generator<Broken> {
    const ids = turns.flatMap(({ blocks }) => idsIn(blocks, 'tool_use', 'id'));
    if (new Set(ids).size < ids.length)
      yield broken('ids said twice', 'messages: `tool_use` ids must be unique');
    for (const [at, { blocks }] of turns.entries()) {
      const asked = idsIn(turns[at - 1]?.blocks ?? [], 'tool_use', 'id');
      const answered = idsIn(blocks, 'tool_result', 'tool_use_id');
      const stray = answered.find((id) => !asked.includes(id));
      if (stray !== undefined) {
        const what = `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray}`;
        yield broken('result without call', `messages.${at}.content.0: ${what}.`);
      }
      const first = blocks.slice(0, answered.length).every(({ type }) => type === 'tool_result');
      const open = asked.find((id) => !answered.includes(id));
      if (open !== undefined || !first) {
        const what = '`tool_use` ids were found without `tool_result` blocks immediately after';
        yield broken('call without result', `messages.${at}: ${what}: ${open ?? ''}.`);
      }
    }
    const begun = thinks ? loopStart(turns) : null;
    if (begun !== null && !begun.blocks.slice(0, 1).some(isThought)) {
      const found = asText(begun.blocks[0]?.['type']);
      const what = `Expected \`thinking\` or \`redacted_thinking\`, but found \`${found}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block`;
      yield broken('thinking expected', `messages.1.content.0.type: ${what}`);
    }
  }

  /** The message that has to begin with a thought; the documentation leaves open which of a loop it is. */
  function loopStart(turns: readonly Turn[]): Turn | null {
    const isResults = (turn: Turn | undefined) =>
      turn?.blocks.some(({ type }) => type === 'tool_result') === true;
    if (!isResults(turns.at(-1))) return null;
    const last = turns.length - 2;
    if (loop === 'message') return turns[last] ?? null;
    const before = turns.findLastIndex((turn) => turn.role === 'user' && !isResults(turn));
    return turns[before + 1] ?? null;
  }
}

/** Consecutive messages of one role are one turn (docs.anthropic.com, Messages). */
function merged(messages: readonly Json[]): readonly Turn[] {
  const turns: Turn[] = [];
  for (const { role, content } of messages) {
    if (role === 'system') continue;
    const blocks = typeof content === 'string' ? [{ type: 'text' }] : asList(content);
    const last = turns.at(-1);
    if (last?.role === role) last?.blocks.push(...blocks);
    else turns.push({ role, blocks: [...blocks] });
  }
  return turns;
}

const idsIn = (blocks: readonly Json[], type: string, name: string): readonly string[] =>
  blocks.filter((block) => block['type'] === type).map((block) => asText(block[name]));

function refusalOf(faults: Generator<Broken>): Refusal | null {
  for (const { rule, message } of faults) {
    const error = { type: 'invalid_request_error', message };
    return { rule, status: 400, body: { type: 'error', error, request_id: 'req_1' } };
  }
  return null;
}

/** Without thoughts; where nothing else would be left, they are said. */
export function spoken(saying: Saying): Saying {
  const text = isThoughtOnly(saying) ? saying.thought : saying.text;
  return { ...saying, thought: '', text };
}

/** A message, whole and as its events. */
function messageOf(
  content: readonly Json[],
  id: string,
  stop_reason: string,
): Pick<Answered, 'whole' | 'events'> {
  const usage = { input_tokens: 10, output_tokens: 5 };
  const head = { id, type: 'message', role: 'assistant', model: 'm', stop_sequence: null };
  const blocks = content.flatMap((block, index) => [
    { type: 'content_block_start', index, content_block: emptied(block) },
    ...deltasOf(block).map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]);
  return {
    whole: { ...head, content, stop_reason, usage },
    events: [
      { type: 'message_start', message: { ...head, content: [], stop_reason: null, usage } },
      ...blocks,
      { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
      { type: 'message_stop' },
    ],
  };
}

function emptied(block: Json): Json {
  switch (block['type']) {
    case 'text':
      return { ...block, text: '' };
    case 'thinking':
      return { ...block, thinking: '', signature: '' };
    case 'tool_use':
      return { ...block, input: {} };
    default:
      return block;
  }
}

function deltasOf({ type, text, thinking, signature, input }: Json): readonly object[] {
  switch (type) {
    case 'text':
      return [{ type: 'text_delta', text }];
    case 'thinking':
      return [
        { type: 'thinking_delta', thinking },
        { type: 'signature_delta', signature },
      ];
    case 'tool_use':
      return [{ type: 'input_json_delta', partial_json: JSON.stringify(input) }];
    default:
      return [];
  }
}

import { asList, asObject, asText, type Json } from '../chaos/events.ts';
import { callOf, completionOf } from './openai.ts';
import {
  type Answered,
  type Dialect,
  extraIn,
  isThoughtOnly,
  type Refusal,
  type Saying,
  strangerIn,
  TOOL,
} from './saying.ts';

/**
 * How engines name calls: llama.cpp; vLLM (fw-ai/fireconnect#16); Kimi K2, counted through the conversation
 * (BerriAI/litellm#34523); Kimi K3, counted through the answer (vllm-project/vllm#50295); LiteLLM for Gemini
 * (Future-House/ldp#479).
 */
export const CALL_IDS = {
  llamacpp: (n: number) => `Q${String(n).padStart(31, 'x')}`,
  vllm: (n: number) => `chatcmpl-tool-${String(n).padStart(32, '0')}`,
  kimi_k2: (n: number) => `functions.${TOOL}:${n}`,
  kimi_k3: (_n: number, place: number) => `${TOOL}:${place}`,
  litellm: (n: number) => `call_${String(n).padStart(28, '0')}__thought__${'Z'.repeat(40)}`,
} as const satisfies Record<string, (n: number, place: number) => string>;

export type CallIds = keyof typeof CALL_IDS;

/** vLLM's message has every field there is, and no call in a list (microsoft/autogen#3120). */
const VLLM = { refusal: null, annotations: null, audio: null, function_call: null };

/** Qwen's template, which hears the system first of all (ggml-org/llama.cpp#27367). */
const NOTED = 'System message must be at the beginning.';

/** An engine without any protocol but chat completions; parts as llama.cpp takes them (tools/server). */
export function createEngine(ids: CallIds): Dialect {
  let count = 0;
  return {
    path: '/chat/completions',
    refusal: (body) => engineRefusal(asList(body['messages']), ids === 'vllm' ? 400 : 500),
    answer(said) {
      const calls = said.asks.map((about, place) => callOf(CALL_IDS[ids](count++, place), about));
      const message = {
        role: 'assistant',
        content: said.text === '' ? null : said.text,
        ...(ids === 'vllm' ? VLLM : {}),
        ...(ids === 'vllm' || calls.length > 0 ? { tool_calls: calls } : {}),
        reasoning_content: said.thought === '' ? null : said.thought,
      };
      return { ...completionOf(message, finishOf(said)), said };
    },
  };
}

const finishOf = (said: Saying): string => {
  if (isThoughtOnly(said)) return 'length';
  return said.asks.length > 0 ? 'tool_calls' : 'stop';
};

/** @param noted what it answers to words of the system */
function engineRefusal(messages: readonly Json[], noted: number): Refusal | null {
  const refusal = (rule: string, message: string, status = 400): Refusal => ({
    rule,
    status,
    body: { error: { code: status, message, type: 'invalid_request_error' } },
  });
  if (messages.slice(1).some(({ role }) => role === 'system' || role === 'developer'))
    return refusal('notes', NOTED, noted);
  for (const { role, content, tool_calls: calls, tool_call_id: id } of messages) {
    const stranger = strangerIn(content, ['text', 'image_url', 'input_audio']);
    if (stranger !== null) return refusal('type of part', 'unsupported content[].type');
    if (role === 'tool' && typeof id !== 'string')
      return refusal('result without call', "Expected 'tool_call_id' in a tool message");
    for (const call of asList(calls)) {
      const json = asText(asObject(call['function'])['arguments']);
      if (!json.startsWith('{')) return refusal('arguments', 'Failed to parse tool call arguments');
    }
  }
  return null;
}

const FIELDS: Readonly<Record<string, readonly string[]>> = {
  system: ['role', 'content'],
  user: ['role', 'content'],
  assistant: ['role', 'content', 'tool_calls', 'prefix'],
  tool: ['role', 'content', 'tool_call_id', 'name'],
};

const CALL: readonly string[] = ['id', 'type', 'function', 'index'];

const FOLLOWERS: Readonly<Record<string, readonly unknown[]>> = {
  system: ['user', 'assistant', 'system'],
  user: ['assistant', 'system', 'user'],
  assistant: ['assistant', 'user', 'tool'],
  tool: ['assistant', 'tool'],
};

/**
 * Mistral's API: the checks of mistral-common (protocol/instruct/validator.py), and fields as in BerriAI/litellm#30835.
 * It thinks in parts of the content, as Magistral does (vercel/ai#8072).
 */
export function createMistral(): Dialect {
  let count = 0;
  return {
    path: '/chat/completions',
    refusal(body) {
      const messages = asList(body['messages']);
      return extraRefusal(messages) ?? structureRefusal(messages);
    },
    answer(said): Answered {
      const text = { type: 'text', text: said.text };
      const thinking = [{ type: 'text', text: said.thought }];
      const parts = [{ type: 'thinking', thinking, closed: true }, ...(said.text ? [text] : [])];
      const calls = said.asks.map((about) => callOf(`m${String(count++).padStart(8, '0')}`, about));
      const message = {
        role: 'assistant',
        content: said.thought === '' ? said.text : parts,
        tool_calls: calls.length === 0 ? null : calls,
      };
      return { ...completionOf(message, finishOf(said)), said };
    },
  };
}

/** Its faults come all at once. */
function extraRefusal(messages: readonly Json[]): Refusal | null {
  const forbidden = (...loc: (string | number)[]) => ({
    type: 'extra_forbidden',
    loc: ['body', 'messages', ...loc],
    msg: 'Extra inputs are not permitted',
  });
  const detail = messages.flatMap((message, at) => {
    const role = asText(message['role']);
    const others = Object.keys(message).filter((name) => FIELDS[role]?.includes(name) !== true);
    const ofCalls = asList(message['tool_calls']).map((call) => extraIn(call, CALL));
    return [
      ...others.map((name) => forbidden(at, role, name)),
      ...ofCalls.flatMap((name) => (name === null ? [] : forbidden(at, role, 'tool_calls', name))),
    ];
  });
  if (detail.length === 0) return null;
  const rule = detail.some(({ loc }) => loc.includes('reasoning_content')) ? 'thoughts' : 'extra';
  return { rule, status: 422, body: { detail } };
}

const refusalOf = (rule: string, message: string): Refusal => ({
  rule,
  status: 400,
  body: { object: 'error', message, type: 'invalid_request_error', param: null, code: '3230' },
});

function structureRefusal(messages: readonly Json[]): Refusal | null {
  const apart = 'Not the same number of function calls and responses';
  let open = 0;
  for (const [at, message] of messages.entries()) {
    const role = asText(message['role']);
    const before = asText(messages[at - 1]?.['role']);
    if (at > 0 && FOLLOWERS[before]?.includes(role) !== true)
      return refusalOf(`order of ${role}`, `Unexpected role '${role}' after role '${before}'`);
    if (role === 'tool') open -= 1;
    else if (open !== 0 && role === 'assistant') return refusalOf('pairs', apart);
    open += asList(message['tool_calls']).length;
    const refused = messageRefusal(message, role);
    if (refused !== null) return refused;
  }
  return open === 0 ? null : refusalOf('pairs', apart);
}

function messageRefusal(message: Json, role: string): Refusal | null {
  const { content, tool_call_id: id } = message;
  const calls = asList(message['tool_calls']);
  const isEmpty = (content ?? '') === '' || (Array.isArray(content) && content.length === 0);
  if (role === 'assistant' && isEmpty && calls.length === 0) {
    const what = 'Assistant message must have either content or tool_calls, but not none.';
    return refusalOf('empty', what);
  }
  const ids = [...calls.map((call) => call['id']), ...(role === 'tool' ? [id] : [])];
  const wrong = ids.find((each) => !/^[a-zA-Z0-9]{9}$/.test(asText(each)));
  if (wrong !== undefined) {
    const what = `but must be a-z, A-Z, 0-9, with a length of 9.`;
    return refusalOf('ids', `Tool call id was ${asText(wrong)} ${what}`);
  }
  const stranger = strangerIn(content, ['text', 'image_url', 'thinking']);
  return stranger === null ? null : refusalOf('type of part', `Input tag '${stranger}' found`);
}

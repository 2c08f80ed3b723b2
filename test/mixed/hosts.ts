import { memberOf } from '../../main/platform/json.ts';
import { asList } from '../chaos/events.ts';
import { spoken } from './anthropic.ts';
import { callOf, completionOf } from './openai.ts';
import { type Dialect, extraIn, type Refusal, type Saying, TOOL } from './saying.ts';

const finishOf = ({ asks }: Saying): string => (asks.length > 0 ? 'tool_calls' : 'stop');

const openAiRefusal = (rule: string, message: string): Refusal => ({
  rule,
  status: 400,
  body: { error: { message, type: 'invalid_request_error' } },
});

/** Moonshot's Kimi, which thinks before each call and wants to see it (earendil-works/pi#987, anomalyco/opencode#10996). */
export function createKimi(): Dialect {
  let count = 0;
  return {
    path: '/chat/completions',
    refusal(body) {
      const at = asList(body['messages']).findIndex(
        (message) =>
          asList(message['tool_calls']).length > 0 && (message['reasoning_content'] ?? '') === '',
      );
      const what = 'thinking is enabled but reasoning_content is missing in assistant tool call';
      return at === -1 ? null : openAiRefusal('no thought', `${what} message at index ${at}`);
    },
    answer(saying) {
      const said = { ...spoken(saying), thought: saying.thought || 'Hm.' };
      const calls = said.asks.map((about) => callOf(`functions.${TOOL}:${count++}`, about));
      const message = {
        role: 'assistant',
        content: said.text,
        reasoning_content: said.thought,
        ...(calls.length > 0 && { tool_calls: calls }),
      };
      return { ...completionOf(message, finishOf(said)), said };
    },
  };
}

/** Google's word for a call of another model (ai.google.dev/gemini-api/docs/thought-signatures, FAQs). */
const SKIPPED = 'skip_thought_signature_validator';

/** Gemini 3, which signs the first call of each step and wants that back in the same turn (securo-finance/securo#884). */
export function createGemini(): Dialect {
  let count = 0;
  const signed = new Set<unknown>([SKIPPED]);
  return {
    path: '/chat/completions',
    refusal(body) {
      const messages = asList(body['messages']);
      const turn = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1);
      const first = turn.flatMap((message) => asList(message['tool_calls']).slice(0, 1));
      const known = first.map((call) => memberOf(call, 'extra_content', ...PLACE));
      if (known.every((signature) => signed.has(signature))) return null;
      const isMissing = known.includes(undefined);
      const missing = 'Function call is missing a thought_signature in functionCall parts.';
      const message = isMissing ? missing : 'Thought signature is not valid.';
      const error = { code: 400, message, status: 'INVALID_ARGUMENT' };
      return { rule: isMissing ? 'no signature' : 'signature', status: 400, body: [{ error }] };
    },
    answer(saying) {
      const said = spoken(saying);
      const seal = `CiQB${String((count += 1)).padStart(12, 'g')}==`;
      const extra_content = { google: { thought_signature: seal } };
      const calls = said.asks.map((about, place) => ({
        ...(place === 0 ? { extra_content } : {}),
        ...callOf(`function-call-${count}${String(place).padStart(18, '0')}`, about),
      }));
      signed.add(seal);
      const message = {
        role: 'assistant',
        content: said.text === '' ? null : said.text,
        ...(calls.length > 0 && { tool_calls: calls }),
      };
      return {
        ...completionOf(message, finishOf(said)),
        said,
        seals: calls.length > 0 ? [seal] : [],
      };
    },
  };
}

const PLACE = ['google', 'thought_signature'] as const;

const FIELDS = ['role', 'content', 'name', 'tool_calls', 'reasoning', 'tool_call_id'];

/** Groq, which names one field at a time (janhq/jan#8136). */
export function createGroq(): Dialect {
  let count = 0;
  return {
    path: '/chat/completions',
    refusal(body) {
      for (const [at, message] of asList(body['messages']).entries()) {
        const extra = extraIn(message, FIELDS);
        if (extra === null) continue;
        const what = `property '${extra}' is unsupported`;
        const rule = extra === 'reasoning_content' ? 'thoughts' : 'extra';
        return openAiRefusal(
          rule,
          `'messages.${at}' : for 'role:assistant' the following must be satisfied[('messages.${at}' : ${what})]`,
        );
      }
      return null;
    },
    answer(saying) {
      const said = spoken(saying);
      const calls = said.asks.map((about) => callOf(`call_${String(count++)}`, about));
      const message = {
        role: 'assistant',
        ...(said.text === '' ? {} : { content: said.text }),
        ...(calls.length > 0 && { tool_calls: calls }),
      };
      return { ...completionOf(message, finishOf(said)), said };
    },
  };
}

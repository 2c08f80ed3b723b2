import { memberOf, parseJson } from '../../../platform/json.ts';
import { openaiError } from '../../http/errors.ts';
import { chunksOf, createAssembly } from '../assembly.ts';
import { endOf, substanceOf, repairedAnswer } from './chunks.ts';
import {
  type AnswerRequirements,
  type AnswerScan,
  createMemberScan,
  endpointAt,
  repairedBy,
  type StreamFormat,
} from '../endpoint.ts';
import {
  bodyOf,
  type JsonBody,
  MAX_BYTES_AT_ONCE,
  memberAt,
  smallValueOf,
  smallValuesOf,
  TOO_LONG,
} from '../json-edit.ts';
import { ChunkWatch } from '../stream-inspector.ts';

export const CHAT_STREAM: StreamFormat = {
  judge: substanceOf,
  createWatch: (choices) => new ChunkWatch(choices),
  createAssembly,
  asksForUsage: true,
  chunksOf,
  // A comment: chat completions have no event for it.
  sign: () => ': waiting for the first token\n\n',
  // An error object in place of a chunk, without a `[DONE]` after it.
  errorEvent: (error) => `data: ${JSON.stringify(openaiError(error))}\n\n`,
  maxHeldBytes: 64 * 1024,
};

export const CHAT_COMPLETIONS = endpointAt('/chat/completions', {
  required: { messages: 'list' },
  asks,
  answer: {
    createScan: createAnswerScan,
    repaired: repairedBy((text) => SUSPECT.test(text), repairedAnswer),
    stream: CHAT_STREAM,
  },
  isResumable: true,
  support: 'required',
});

/** Small enough to be parsed in one go, whatever is in it. */
const MAX_PARSED_BYTES = 64 * 1024;

/** For chat completions. One too long to be parsed has content, unless it has no choices or was broken off. */
export function createAnswerScan(): AnswerScan {
  const members = createMemberScan({ choices: 'list' });
  return {
    push: (body) => body.length <= MAX_PARSED_BYTES || members.push(body),
    substance(body) {
      if (body.length > MAX_PARSED_BYTES) {
        const kind = members.substance(body);
        return kind === 'content' && isBrokenOff(body) ? 'error' : kind;
      }
      const answer = parseJson(body.toString('utf8'));
      return answer === undefined ? null : substanceOf(answer).kind;
    },
  };
}

const FINISH = '"finish_reason"';
const FINISH_REASON = /^"finish_reason"\s{0,50}:\s{0,50}"([^"\\]{1,100})"/;
/** OpenAI gives no more; a hostile answer could have a million. */
const MAX_CHOICES = 128;

/** Found without parsing, or copying what may be 32 MiB: in a text of the answer the quotes would be escaped. */
function isBrokenOff(body: Buffer): boolean {
  let at = -1;
  for (let choices = 0; choices < MAX_CHOICES; choices += 1) {
    at = body.indexOf(FINISH, at + 1);
    if (at === -1) return false;
    const [, reason] = FINISH_REASON.exec(body.toString('latin1', at, at + 256)) ?? [];
    if (endOf(reason) === 'broken') return true;
  }
  return false;
}

function asks(body: JsonBody): AnswerRequirements {
  const n = smallValueOf(body, 'n');
  const choices = typeof n === 'number' && n > 1 ? n : 1;
  return {
    choices,
    isAssemblable: () => (n === undefined || n === null || n === 1) && isPlainText(body),
    followsToolResult: () => /^(tool|function)$/.test(String(lastRole(body))),
    mayLeakCalls: () => choices === 1 && mayCallInText(body),
  };
}

/** Calls of tools, a reason that is not one of OpenAI's, and a number for a text. */
const SUSPECT =
  /"tool_calls"\s*:\s*[[{]|"finish_reason"\s*:\s*"(?!(stop|length|tool_calls|content_filter|function_call)")|"content"\s*:\s*[-\d]|"role"\s*:\s*""/;

/** What each chunk would carry again; vLLM refuses the last two in a stream (vllm-project/vllm#24956). */
const PER_TOKEN = ['logprobs', 'audio', 'prompt_logprobs', 'return_token_ids'];

/**
 * In a whole answer llama.cpp repeats a last message of the assistant, which it is to continue, and in a stream it
 * does not (tools/server, b11669), so only the upstream's own whole answer is right.
 */
function isPlainText(body: JsonBody): boolean {
  const [modalities, stream] = smallValuesOf(body, ['modalities', 'stream']);
  return (
    smallValuesOf(body, PER_TOKEN).every((value) => (value ?? false) === false) &&
    modalities !== TOO_LONG &&
    (!Array.isArray(modalities) || modalities.every((kind) => kind === 'text')) &&
    (stream === true || lastRole(body) !== 'assistant')
  );
}

/** Not where no tool is offered, or the answer is to be JSON. */
function mayCallInText(body: JsonBody): boolean {
  if ((memberAt(body, 'tools')?.last ?? null) === null) return false;
  const [choice, format] = smallValuesOf(body, ['tool_choice', 'response_format']);
  const isText = (format ?? null) === null || memberOf(format, 'type') === 'text';
  return choice !== 'none' && isText;
}

/** The role of the last message; null if it is too long to be looked at. */
function lastRole(body: JsonBody): unknown {
  const { start, end } = memberAt(body, 'messages')?.last ?? { start: 0, end: 0 };
  if (end - start > MAX_BYTES_AT_ONCE) return null;
  return smallValueOf(bodyOf(body.bytes.subarray(start, end)), 'role');
}

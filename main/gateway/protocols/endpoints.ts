import { isObject, listOf, memberOf } from '../../platform/json.ts';
import { createAssembly } from './assembly.ts';
import { CHAT_COMPLETIONS, CHAT_STREAM } from './chat/endpoint.ts';
import { type Substance, substanceOf } from './chat/chunks.ts';
import {
  type AnswerRequirements,
  type ApiEndpoint,
  createMemberScan,
  endpointAt,
  ONE_WHOLE,
  wholeAnswer,
} from './endpoint.ts';
import { type JsonBody, memberAt, smallValueOf, smallValuesOf } from './json-edit.ts';
import { COUNT_TOKENS, MESSAGES } from './messages/endpoint.ts';
import { RESPONSES } from './responses/endpoint.ts';

/** The model must be named: left to the upstreams, a fallback would mix vectors of two models in one index. */
export const EMBEDDINGS = endpointAt('/embeddings', {
  keepsModel: true,
  required: { input: 'text or list', model: 'text' },
  asks: (body) =>
    smallValueOf(body, 'encoding_format') === 'base64'
      ? { ...ONE_WHOLE, asAsked: inBase64 }
      : ONE_WHOLE,
  answer: wholeAnswer({ data: 'list' }),
});

/** A list of numbers; as a text, the quotes of the name would be escaped. */
const NUMBERS = /"embedding"\s*:\s*(\[[^[\]"]*\])/g;

/**
 * OpenAI's clients ask for base64 by themselves and decode whatever comes: of an engine's numbers they make zeros without
 * an error (litellm#42421). Vector by vector, as all numbers of an answer together are too many to be parsed.
 */
function inBase64(answer: Buffer): Buffer {
  const text = answer.toString('latin1');
  const encoded = text.replace(NUMBERS, (whole, numbers: string) => {
    const vector = Float32Array.from(JSON.parse(numbers) as number[]);
    const view = new DataView(vector.buffer);
    for (const [index, value] of vector.entries()) view.setFloat32(index * 4, value, true);
    return `${whole.slice(0, -numbers.length)}"${Buffer.from(vector.buffer).toString('base64')}"`;
  });
  return encoded === text ? answer : Buffer.from(encoded, 'latin1');
}

/** As vLLM, llama.cpp, Jina and Cohere have it; Voyage calls the list `data`. */
export const RERANK = endpointAt('/rerank', {
  keepsModel: true,
  required: { query: 'text', documents: 'list', model: 'text' },
  answer: wholeAnswer({ results: 'list', data: 'list' }),
});

/** A recording as a form, which is passed on as it is. Answers are JSON, plain text, subtitles or events. */
export const TRANSCRIPTIONS = endpointAt('/audio/transcriptions', {
  keepsModel: true,
  body: 'multipart',
  answer: { ...wholeAnswer({ text: 'any text' }), takesBytes: true },
});

const SPEECH = endpointAt('/audio/speech', {
  keepsModel: true,
  required: { input: 'text' },
  answer: { ...wholeAnswer({}), takesBytes: true },
});

/** Text to be continued, or filled in before a `suffix`: editors request it while their user types. */
export const COMPLETIONS = endpointAt('/completions', {
  required: { prompt: 'text or list' },
  asks,
  answer: {
    createScan: () => createMemberScan({ choices: 'list' }),
    stream: {
      ...CHAT_STREAM,
      judge,
      createAssembly: () => createAssembly('text_completion'),
      // A whole answer has the shape of a chunk.
      chunksOf: (answer) => [answer],
    },
  },
});

/** Each prompt of a list has `n` choices; a list of numbers is one prompt of tokens. */
function asks(body: JsonBody): AnswerRequirements {
  const [n, logprobs] = smallValuesOf(body, ['n', 'logprobs']);
  const choices = (typeof n === 'number' && n > 1 ? n : 1) * promptCount(body);
  const isAssemblable = () => choices === 1 && (logprobs ?? null) === null;
  return { ...ONE_WHOLE, choices, isAssemblable };
}

function promptCount(body: JsonBody): number {
  // It was checked to be a text or a list.
  if ((memberAt(body, 'prompt')?.last ?? null) === null) return 1;
  const prompts = smallValueOf(body, 'prompt');
  // Too long to be counted: only `[DONE]` will tell that all of them are finished.
  if (!Array.isArray(prompts)) return Infinity;
  return typeof prompts[0] === 'number' ? 1 : prompts.length;
}

/** An editor's completion may rightly be empty, so a finish reason is content as well. */
function judge(value: unknown): Substance {
  const substance = substanceOf(value);
  if (substance.kind === 'error') return substance;
  const isContent = substance.finish !== null || listOf(memberOf(value, 'choices')).some(hasText);
  return { ...substance, kind: isContent ? 'content' : 'nothing' };
}

function hasText(choice: unknown): boolean {
  return isObject(choice) && typeof choice['text'] === 'string' && choice['text'] !== '';
}

export const ENDPOINTS: readonly ApiEndpoint[] = [
  CHAT_COMPLETIONS,
  COMPLETIONS,
  EMBEDDINGS,
  RERANK,
  RESPONSES,
  MESSAGES,
  COUNT_TOKENS,
  TRANSCRIPTIONS,
  SPEECH,
];

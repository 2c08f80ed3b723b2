import { errorBody, type GatewayError } from '../../http/errors.ts';
import { createAnswerScan } from '../answer-scan.ts';
import { answerAsChunk, createAssembly } from '../assembly.ts';
import { isLastChunk, substanceOf } from '../completion.ts';
import { type ApiEndpoint, type Asked, pathsOf, type StreamFormat } from '../endpoint.ts';
import {
  MAX_BYTES_AT_ONCE,
  type Member,
  smallValueOf,
  smallValuesOf,
  TOO_LONG,
  topLevelMembers,
} from '../json-members.ts';
import { createStreamWatch } from '../stream-inspector.ts';
import { requiresList } from './fields.ts';

export const CHAT_STREAM: StreamFormat = {
  judge: substanceOf,
  isLastChunk,
  createWatch: createStreamWatch,
  createAssembly,
  asksForUsage: true,
  asEvents: answerAsChunk,
  errorEvent: errorChunk,
  maxHeldBytes: 64 * 1024,
};

export const CHAT_COMPLETIONS: ApiEndpoint = {
  paths: pathsOf('/chat/completions'),
  upstreamPath: '/chat/completions',
  body: 'json',
  checkBody: requiresList('messages'),
  asks,
  answer: { createScan: createAnswerScan, stream: CHAT_STREAM, takesBytes: false },
  isResumable: true,
  keepsModel: false,
  support: 'required',
  vendor: 'openai',
};

function asks(bytes: Buffer, members: readonly Member[]): Asked {
  const n = smallValueOf(bytes, members, 'n');
  return {
    choices: typeof n === 'number' && n > 1 ? n : 1,
    isAssemblable: () => (n === undefined || n === null || n === 1) && isPlainText(bytes, members),
  };
}

function isPlainText(bytes: Buffer, members: readonly Member[]): boolean {
  const keys = ['logprobs', 'audio', 'modalities', 'stream'];
  const [logprobs, audio, modalities, stream] = smallValuesOf(bytes, members, keys);
  return (
    (logprobs === undefined || logprobs === null || logprobs === false) &&
    (audio === undefined || audio === null) &&
    modalities !== TOO_LONG &&
    (!Array.isArray(modalities) || modalities.every((kind) => kind === 'text')) &&
    (stream === true || !isBegun(bytes, members))
  );
}

/**
 * Whether the last message is the assistant's, for the upstream to continue. In a whole answer llama.cpp repeats
 * it and in a stream it does not (tools/server, b11669), so only the upstream's own whole answer is right.
 */
function isBegun(bytes: Buffer, members: readonly Member[]): boolean {
  const last = members.find(({ key }) => key === 'messages')?.last ?? null;
  if (last === null || last.end - last.start > MAX_BYTES_AT_ONCE) return false;
  const message = bytes.subarray(last.start, last.end);
  return smallValueOf(message, topLevelMembers(message), 'role') === 'assistant';
}

/** An error object in place of a chunk, without a `[DONE]` after it. */
function errorChunk(error: GatewayError): string {
  return `data: ${JSON.stringify(errorBody(error, 'openai'))}\n\n`;
}

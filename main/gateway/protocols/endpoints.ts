import {
  type ApiEndpoint,
  pathsOf,
  WITHOUT_STREAMS,
  anyBody,
  requiresText,
  all,
  requiresList,
  requiresTextOrList,
} from './endpoint.ts';
import { CHAT_COMPLETIONS } from './chat/endpoint.ts';
import { COMPLETIONS } from './chat/completions.ts';
import { COUNT_TOKENS, MESSAGES } from './messages/endpoint.ts';
import { RESPONSES } from './responses/endpoint.ts';
import { createMemberScan, createNoScan, TEXT, LIST } from './answer-scan.ts';

/** The model must be named: left to the upstreams, a fallback would mix vectors of two models in one index. */
export const EMBEDDINGS: ApiEndpoint = {
  ...WITHOUT_STREAMS,
  paths: pathsOf('/embeddings'),
  upstreamPath: '/embeddings',
  body: 'json',
  checkBody: all(requiresTextOrList('input'), requiresText('model')),
  answer: { createScan: () => createMemberScan({ data: LIST }), stream: null, takesBytes: false },
};

/** As vLLM, llama.cpp, Jina and Cohere have it; Voyage calls the list `data`. */
export const RERANK: ApiEndpoint = {
  ...WITHOUT_STREAMS,
  paths: pathsOf('/rerank'),
  upstreamPath: '/rerank',
  body: 'json',
  checkBody: all(requiresText('query'), requiresList('documents'), requiresText('model')),
  answer: {
    createScan: () => createMemberScan({ results: LIST, data: LIST }),
    stream: null,
    takesBytes: false,
  },
};

/** A recording as a form, which is passed on as it is. Answers are JSON, plain text, subtitles or events. */
export const TRANSCRIPTIONS: ApiEndpoint = {
  ...WITHOUT_STREAMS,
  paths: pathsOf('/audio/transcriptions'),
  upstreamPath: '/audio/transcriptions',
  body: 'multipart',
  checkBody: anyBody,
  answer: { createScan: () => createMemberScan({ text: TEXT }), stream: null, takesBytes: true },
};

const SPEECH: ApiEndpoint = {
  ...WITHOUT_STREAMS,
  paths: pathsOf('/audio/speech'),
  upstreamPath: '/audio/speech',
  body: 'json',
  checkBody: requiresText('input'),
  answer: { createScan: createNoScan, stream: null, takesBytes: true },
};

/** Every endpoint that upstreams serve. */
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

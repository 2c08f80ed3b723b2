import { type ApiEndpoint, ONE_WHOLE, pathsOf } from '../endpoint.ts';
import { all, requiresList, requiresText, requiresTextOrList } from './fields.ts';
import { createMemberScan, LIST } from './member-scan.ts';

const COMMON = {
  body: 'json',
  asks: () => ONE_WHOLE,
  isResumable: false,
  keepsModel: true,
  support: 'optional',
  vendor: 'openai',
} as const satisfies Partial<ApiEndpoint>;

/** The model must be named: left to the upstreams, a fallback would mix vectors of two models in one index. */
export const EMBEDDINGS: ApiEndpoint = {
  ...COMMON,
  paths: pathsOf('/embeddings'),
  upstreamPath: '/embeddings',
  checkBody: all(requiresTextOrList('input'), requiresText('model')),
  answer: { createScan: () => createMemberScan({ data: LIST }), stream: null, takesBytes: false },
};

/** As vLLM, llama.cpp, Jina and Cohere have it; Voyage calls the list `data`. */
export const RERANK: ApiEndpoint = {
  ...COMMON,
  paths: pathsOf('/rerank'),
  upstreamPath: '/rerank',
  checkBody: all(requiresText('query'), requiresList('documents'), requiresText('model')),
  answer: {
    createScan: () => createMemberScan({ results: LIST, data: LIST }),
    stream: null,
    takesBytes: false,
  },
};

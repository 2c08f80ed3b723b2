import { type ApiEndpoint, pathsOf, WITHOUT_STREAMS } from './endpoint.ts';
import { all, requiresList, requiresText, requiresTextOrList } from './fields.ts';
import { createMemberScan, LIST } from './member-scan.ts';

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

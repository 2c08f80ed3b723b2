import type { ApiEndpoint } from './endpoint.ts';
import { SPEECH, TRANSCRIPTIONS } from './audio.ts';
import { CHAT_COMPLETIONS } from './chat/endpoint.ts';
import { COMPLETIONS } from './chat/completions.ts';
import { COUNT_TOKENS, MESSAGES } from './messages/endpoint.ts';
import { RESPONSES } from './responses/endpoint.ts';
import { EMBEDDINGS, RERANK } from './vectors.ts';

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

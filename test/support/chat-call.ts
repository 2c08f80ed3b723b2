import type { ChatRequest } from '../../main/gateway/protocols/chat-request.ts';
import type { ChatCall } from '../../main/gateway/upstream/call.ts';

/** A request without headers, or chat form. */
export const chatCall = (request: ChatRequest): ChatCall => ({
  request,
  asked: request,
  headers: {},
  authorization: null,
  zeroSpend: false,
  chatForm: null,
  native: () => request,
  isHashFixed: false,
});

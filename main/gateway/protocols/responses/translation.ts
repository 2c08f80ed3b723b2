import { type ProtocolTranslation, openAiError } from '../translation/translation.ts';
import { createResponseStream, wholeAnswer } from './answers.ts';
import { toChat } from './request.ts';

/** The OpenAI Responses API. */
export const RESPONSES: ProtocolTranslation = {
  toChat,
  answer: wholeAnswer,
  createStream: createResponseStream,
  errorBody: openAiError,
};

import { type ProtocolTranslation, anthropicError } from '../translation/translation.ts';
import { createMessageStream, wholeAnswer } from './answers.ts';
import { toChat } from './request.ts';

/** The Anthropic Messages API. */
export const MESSAGES: ProtocolTranslation = {
  toChat,
  answer: wholeAnswer,
  createStream: createMessageStream,
  errorBody: anthropicError,
};

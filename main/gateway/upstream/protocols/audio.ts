import { type ApiEndpoint, ONE_WHOLE, pathsOf } from '../endpoint.ts';
import { anyBody, requiresText } from './fields.ts';
import { createMemberScan, createNoScan, TEXT } from './member-scan.ts';

const COMMON = {
  asks: () => ONE_WHOLE,
  isResumable: false,
  // The model that an upstream is configured with is one for chat.
  keepsModel: true,
  support: 'optional',
  vendor: 'openai',
} as const satisfies Partial<ApiEndpoint>;

/** A recording as a form, which is passed on as it is. Answers are JSON, plain text, subtitles or events. */
export const TRANSCRIPTIONS: ApiEndpoint = {
  ...COMMON,
  paths: pathsOf('/audio/transcriptions'),
  upstreamPath: '/audio/transcriptions',
  body: 'multipart',
  checkBody: anyBody,
  answer: { createScan: () => createMemberScan({ text: TEXT }), stream: null, takesBytes: true },
};

export const SPEECH: ApiEndpoint = {
  ...COMMON,
  paths: pathsOf('/audio/speech'),
  upstreamPath: '/audio/speech',
  body: 'json',
  checkBody: requiresText('input'),
  answer: { createScan: createNoScan, stream: null, takesBytes: true },
};

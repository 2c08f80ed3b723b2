import { type ApiEndpoint, pathsOf, WITHOUT_STREAMS } from './endpoint.ts';
import { anyBody, requiresText } from './fields.ts';
import { createMemberScan, createNoScan, TEXT } from './member-scan.ts';

/** A recording as a form, which is passed on as it is. Answers are JSON, plain text, subtitles or events. */
export const TRANSCRIPTIONS: ApiEndpoint = {
  ...WITHOUT_STREAMS,
  paths: pathsOf('/audio/transcriptions'),
  upstreamPath: '/audio/transcriptions',
  body: 'multipart',
  checkBody: anyBody,
  answer: { createScan: () => createMemberScan({ text: TEXT }), stream: null, takesBytes: true },
};

export const SPEECH: ApiEndpoint = {
  ...WITHOUT_STREAMS,
  paths: pathsOf('/audio/speech'),
  upstreamPath: '/audio/speech',
  body: 'json',
  checkBody: requiresText('input'),
  answer: { createScan: createNoScan, stream: null, takesBytes: true },
};

import type { ResponseHeaders } from '../../platform/http/types.ts';
import {
  bodyKind,
  type BodyReader,
  createAnswerReader,
  createAssemblingReader,
  createBytesReader,
  createSniffingReader,
  createStreamReader,
} from './body-readers.ts';
import type { AnswerFormat } from './endpoint.ts';

/**
 * `relay`: as a stream. `rest`: as the remaining part of a stream that was resumed. `assemble`: one JSON answer
 * built from a stream. `whole`: as JSON.
 */
export type AnswerMode = 'relay' | 'rest' | 'assemble' | 'whole';

/** The reader of an answer's body. */
export function readerFor(
  format: AnswerFormat,
  mode: AnswerMode,
  headers: ResponseHeaders,
): BodyReader {
  const isRest = mode === 'rest';
  const isRelayed = isRest || mode === 'relay';
  const { stream, takesBytes } = format;
  const kind = bodyKind(headers);
  if (takesBytes && kind !== 'json') return createBytesReader();
  const json = () => createAnswerReader(format, isRelayed);
  const assembly = stream?.createAssembly ?? null;
  // A stream that was not asked for is no answer where none can be built from it.
  if (stream === null || (!isRelayed && assembly === null)) return json();
  const events = () =>
    isRelayed || assembly === null
      ? createStreamReader(stream, isRest)
      : createAssemblingReader(stream, assembly());
  switch (kind) {
    case 'events':
      return events();
    // Some engines label their streams as JSON.
    case 'json':
    case 'page':
    case 'unknown':
      return createSniffingReader({ json, events });
  }
}

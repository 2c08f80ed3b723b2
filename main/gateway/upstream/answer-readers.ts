import { ByteBuffer } from '../../platform/byte-buffer.ts';
import type { ResponseHeaders } from '../../platform/http/types.ts';
import {
  type BodyReader,
  createAnswerReader,
  createAssemblingReader,
  createBytesReader,
  createStreamReader,
  MORE,
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

type BodyKind = 'events' | 'json' | 'page' | 'unknown';

/** Of the content type; engines are loose with it, so anything else is `unknown`. */
export function bodyKind(headers: ResponseHeaders): BodyKind {
  const type = String(headers['content-type'] ?? '').toLowerCase();
  if (type.startsWith('text/event-stream')) return 'events';
  if (/^application\/([\w.+-]*\+)?json/.test(type)) return 'json';
  return type.startsWith('text/html') ? 'page' : 'unknown';
}

/** More leading white space than this begins neither an answer nor a stream. */
const MAX_BLANK_BYTES = 64 * 1024;

/** Chooses the reader by the first byte after white space: a brace or bracket begins JSON, anything else events. */
export function createSniffingReader(readers: {
  readonly json: () => BodyReader;
  readonly events: () => BodyReader;
}): BodyReader {
  let chosen: BodyReader | null = null;
  const blanks = new ByteBuffer();
  return {
    push(chunk) {
      if (chosen !== null) return chosen.push(chunk);
      const first = chunk.find((byte) => byte > 0x20);
      blanks.add(chunk);
      if (first !== undefined) {
        chosen = first === 0x7b || first === 0x5b ? readers.json() : readers.events();
        return chosen.push(blanks.take());
      }
      if (blanks.length <= MAX_BLANK_BYTES) return MORE;
      return { kind: 'bad', detail: `over ${MAX_BLANK_BYTES} bytes of blanks` };
    },
    end: () => chosen?.end() ?? { kind: 'bad', detail: 'an empty body' },
  };
}

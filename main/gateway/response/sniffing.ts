import { ByteBuffer } from '../../platform/byte-buffer.ts';
import type { ResponseHeaders } from '../../platform/http.ts';
import type { BodyReader, Progress } from './readers.ts';

/** What a 2xx body is, as far as its head tells. */
export type BodyKind = 'events' | 'json' | 'page' | 'unknown';

/** Reads the content type; engines are loose with it, so everything but the three is `unknown`. */
export function bodyKind(headers: ResponseHeaders): BodyKind {
  const type = String(headers['content-type'] ?? '').toLowerCase();
  if (type.startsWith('text/event-stream')) return 'events';
  if (/^application\/([\w.+-]*\+)?json/.test(type)) return 'json';
  return type.startsWith('text/html') ? 'page' : 'unknown';
}

/** So many blanks before anything else begin neither an answer nor a stream. */
const MAX_BLANK_BYTES = 64 * 1024;

/** Chooses the reader by the first byte that is no blank: a brace or bracket begins JSON, anything else events. */
export function createSniffingReader(readers: {
  readonly json: () => BodyReader;
  readonly events: () => BodyReader;
}): BodyReader {
  let chosen: BodyReader | null = null;
  const blanks = new ByteBuffer();
  return {
    push(chunk): Progress {
      if (chosen !== null) return chosen.push(chunk);
      const first = chunk.find((byte) => byte > 0x20);
      blanks.add(chunk);
      if (first !== undefined) {
        chosen = first === 0x7b || first === 0x5b ? readers.json() : readers.events();
        return chosen.push(blanks.take());
      }
      if (blanks.length <= MAX_BLANK_BYTES) return { kind: 'more' };
      return { kind: 'bad', detail: `over ${MAX_BLANK_BYTES} bytes of blanks` };
    },
    end: (): Progress => chosen?.end() ?? { kind: 'bad', detail: 'an empty body' },
    hasContent: () => chosen?.hasContent() ?? false,
  };
}

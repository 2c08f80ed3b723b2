import type { ResponseHeaders } from '../platform/http.ts';
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

/** Chooses the reader by the first byte that is no blank: `{` begins an answer, anything else events. */
export function createSniffingReader(readers: {
  readonly json: () => BodyReader;
  readonly events: () => BodyReader;
}): BodyReader {
  let chosen: BodyReader | null = null;
  return {
    push(chunk): Progress {
      if (chosen === null) {
        const first = chunk.find((byte) => byte > 0x20);
        if (first === undefined) return { kind: 'more' };
        chosen = first === 0x7b ? readers.json() : readers.events();
      }
      return chosen.push(chunk);
    },
    end: (): Progress => chosen?.end() ?? { kind: 'bad', detail: 'an empty body' },
    hasContent: () => chosen?.hasContent() ?? false,
  };
}

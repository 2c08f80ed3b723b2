import type { ResponseHeaders } from '../../platform/http/types.ts';

type BodyKind = 'events' | 'json' | 'page' | 'unknown';

/** Of the content type; engines are loose with it, so anything else is `unknown`. */
export function bodyKind(headers: ResponseHeaders): BodyKind {
  const type = String(headers['content-type'] ?? '').toLowerCase();
  if (type.startsWith('text/event-stream')) return 'events';
  if (/^application\/([\w.+-]*\+)?json/.test(type)) return 'json';
  return type.startsWith('text/html') ? 'page' : 'unknown';
}

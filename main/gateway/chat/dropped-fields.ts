import type { OutgoingHttpHeaders } from 'node:http';
import type { Log } from '../../platform/log.ts';
import type { DroppedFields } from '../protocols/translation/translation.ts';

/** `X-Gateway-Dropped`; absent if nothing was. */
export function droppedHeader({ named, others }: DroppedFields): OutgoingHttpHeaders {
  const all = others === 0 ? named : [...named, `+${others}`];
  return all.length === 0 ? {} : { 'x-gateway-dropped': all.join(', ') };
}

/** Names a protocol by its path. */
export type NoteDropped = (fields: DroppedFields, protocol: string) => void;

/** Callers can send any number of fields; further ones are not logged. */
const MAX_LOGGED = 100;

/** A client sends a field in every request, so the log names each once. */
export function logDroppedFields(log: Log): NoteDropped {
  const logged = new Set<string>();
  return ({ named }, protocol) => {
    for (const path of named) {
      const field = path.replaceAll(/\[\d+\]/g, '[]');
      const entry = `${protocol} ${field}`;
      if (logged.has(entry) || logged.size >= MAX_LOGGED) continue;
      logged.add(entry);
      log('info', 'field_dropped', { field, protocol });
    }
  };
}

import { z } from 'zod';
import { NOTE_LIMITS, type ProviderNote, type ProviderNotes } from '#shared/provider-notes.ts';
import { type RegistryContext, write } from './context.ts';
import { type Answer, answered } from '../platform/http/routes.ts';
import { providerNotFound, readJson, unwritten } from './responses.ts';

function line(max: number) {
  const rule = `must be text of at most ${max} characters without control characters; send "" for none`;
  return z
    .string(rule)
    .transform((text) => text.trim())
    .refine((text) => text.length <= max && !/\p{Cc}/u.test(text.replaceAll('\n', ' ')), rule);
}

const noteSchema = z.object({ name: line(NOTE_LIMITS.name), note: line(NOTE_LIMITS.note) });

/** The owner's names for machines and notes about them. */
export function createOwnerNotes(parts: RegistryContext) {
  const { table } = parts;
  return {
    notes(): ProviderNotes {
      const all = [...table.all()];
      const noted = all.flatMap(({ id, stored: { note } }) => (note === null ? [] : [[id, note]]));
      return { notes: Object.fromEntries(noted) as ProviderNotes['notes'] };
    },
    /** The owner's name for a machine, otherwise its host name; null if it has neither. */
    nameOf: (id: string): string | null => {
      const entry = table.get(id);
      return entry?.stored.note?.name || entry?.shown?.host.hostname.trim() || null;
    },
    /** Two empty texts delete the note. */
    async setNote(
      id: string,
      body: unknown,
    ): Promise<Answer<{ readonly id: string } & ProviderNote>> {
      const entry = table.get(id);
      if (entry === undefined) return providerNotFound(id);
      const read = readJson(body, noteSchema);
      if (read.kind === 'refused') return read;
      const { value: note } = read;
      const { note: before } = entry.stored;
      entry.stored = { ...entry.stored, note: note.name + note.note === '' ? null : note };
      const change = { kind: 'provider', provider: entry.stored, part: 'note' } as const;
      const written = await write([change], parts);
      if (written.kind === 'unwritten') {
        entry.stored = { ...entry.stored, note: before };
        return unwritten(written.message);
      }
      table.touch(entry);
      return answered({ id, ...note });
    },
  };
}

import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { NOTE_LIMITS, type ProviderNote, type ProviderNotes } from '#shared/provider-notes.ts';
import { type RegistryContext, write } from './context.ts';
import { type Answer, answered, invalidRequest } from '../platform/http/routes.ts';
import { parseJson } from '../platform/json.ts';
import { providerNotFound, unwritten } from './responses.ts';
import type { StoredState } from './store/store.ts';

const PREFIX = 'note:';

export const noteDocument = (id: string) => `${PREFIX}${id}`;

const line = (max: number) =>
  z
    .string()
    .transform((text) => text.trim())
    .refine((text) => text.length <= max && !/\p{Cc}/u.test(text.replaceAll('\n', ' ')));

const noteSchema = z.object({ name: line(NOTE_LIMITS.name), note: line(NOTE_LIMITS.note) });

export type OwnerNotes = ReturnType<typeof createOwnerNotes>;

/**
 * The owner's names for machines and notes about them. They are not part of a record, because no agent sends them.
 */
export function createOwnerNotes(parts: RegistryContext, state: Pick<StoredState, 'documents'>) {
  const { table } = parts;
  const notes = new Map<string, ProviderNote>();

  const keep = (id: string, note: ProviderNote | null): void => {
    if (note === null || (note.name === '' && note.note === '')) notes.delete(id);
    else notes.set(id, note);
  };

  for (const [name, json] of Object.entries(state.documents))
    if (name.startsWith(PREFIX)) keep(name.slice(PREFIX.length), noteIn(json));

  /** `note` is null if the machine has none. */
  function take(id: string, note: ProviderNote | null): void {
    if (isDeepStrictEqual(notes.get(id) ?? null, note)) return;
    keep(id, note);
    const entry = table.get(id);
    if (entry !== undefined) table.touch(entry);
  }

  return {
    notes: (): ProviderNotes => ({ notes: Object.fromEntries(notes) }),
    /** The owner's name for a machine, otherwise its host name; null if it has neither. */
    nameOf(id: string): string | null {
      const host = table.get(id)?.shown?.host.hostname.trim();
      return notes.get(id)?.name || host || null;
    },
    /** Two empty texts delete the note. */
    async setNote(
      id: string,
      body: unknown,
    ): Promise<Answer<{ readonly id: string } & ProviderNote>> {
      const entry = table.get(id);
      if (entry === undefined) return providerNotFound(id);
      const { data: note, error } = noteSchema.safeParse(body);
      if (note === undefined) return refusal(error);
      const before = notes.get(id) ?? null;
      keep(id, note);
      const json = notes.has(id) ? JSON.stringify(note) : null;
      const written = await write([{ kind: 'document', name: noteDocument(id), json }], parts);
      if (written.kind === 'unwritten') {
        keep(id, before);
        return unwritten(written.message);
      }
      table.touch(entry);
      return answered({ id, ...note });
    },
    forget(id: string): void {
      if (notes.delete(id))
        void write([{ kind: 'document', name: noteDocument(id), json: null }], parts);
    },
    /** The ids of the machines that have a note. */
    ids: (): readonly string[] => [...notes.keys()],
    take,
    /** Takes a document as it is stored, or null if it was removed. Documents that are not notes are ignored. */
    read(name: string, json: string | null): void {
      if (name.startsWith(PREFIX)) take(name.slice(PREFIX.length), noteIn(json));
    },
  };
}

/** A note that cannot be read counts as none, because nothing depends on it. */
function noteIn(json: string | null): ProviderNote | null {
  return noteSchema.safeParse(parseJson(json ?? 'null')).data ?? null;
}

function refusal(error: z.ZodError) {
  const [field] = error.issues[0]?.path ?? [];
  return field === 'name' || field === 'note'
    ? invalidRequest(
        `'${field}' must be text of at most ${NOTE_LIMITS[field]} characters without control characters; send "" for none.`,
        field,
      )
    : invalidRequest('Send a JSON object with `name` and `note`.');
}

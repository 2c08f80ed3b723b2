import { useState } from 'react';
import { flushSync } from 'react-dom';
import type { Refusal } from '../../api/client.ts';
import { isDirty, patchOf, waitsForRestart, type Drafts } from './draft.ts';
import type { Section } from './field.ts';

export type SaveOutcome =
  | { readonly kind: 'saving' }
  /** `later`: some of it takes effect only after a restart. */
  | { readonly kind: 'saved'; readonly later: boolean }
  | { readonly kind: 'unchanged' }
  | ({ readonly kind: 'refused' } & Refusal);

interface Saving {
  readonly outcome: SaveOutcome | null;
  /** Resolves with true once saved; after a refusal the field at fault gets the focus. */
  readonly save: (drafts: Drafts) => Promise<boolean>;
  readonly forget: () => void;
}

/** Saves a section, one attempt at a time. */
export function useSaving(
  section: Section,
  onSave: (tree: object) => Promise<Refusal | null>,
): Saving {
  const [outcome, setOutcome] = useState<SaveOutcome | null>(null);

  const save = async (drafts: Drafts): Promise<boolean> => {
    if (outcome?.kind === 'saving') return false;
    if (!isDirty(drafts, section)) {
      setOutcome({ kind: 'unchanged' });
      return false;
    }
    setOutcome({ kind: 'saving' });
    const later = waitsForRestart(drafts, section);
    const refusal = await onSave(patchOf(drafts, section));
    // Rendered synchronously: the focused element and its description must exist.
    flushSync(() =>
      setOutcome(refusal ? { kind: 'refused', ...refusal } : { kind: 'saved', later }),
    );
    if (refusal?.param) document.getElementById(refusal.param)?.focus();
    return refusal === null;
  };

  return { outcome, save, forget: () => setOutcome(null) };
}

/** Something the palette can go to or do. */
export interface Entry {
  readonly id: string;
  readonly group: 'page' | 'action' | 'upstream' | 'machine' | 'setting';
  readonly text: string;
  /** What tells it from others of the same text; found as well. */
  readonly note: string;
  /** An address to go to, or what to do; an action resolves with what it says, or null to say nothing. */
  readonly to: string | (() => Promise<string | null>);
}

/** As many as fit on the smallest screen with its keyboard open, some of them by scrolling. */
export const MAX_ENTRIES = 50;

/** The entries that contain every word of the query, those whose text begins with it first. */
export function foundEntries(entries: readonly Entry[], query: string): readonly Entry[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) {
    return entries.filter(({ group }) => group === 'page' || group === 'action');
  }
  const ranked = entries.flatMap((entry, index) => {
    const text = entry.text.toLowerCase();
    const all = `${text} ${entry.note.toLowerCase()}`;
    if (!words.every((word) => all.includes(word))) return [];
    const begins = text.startsWith(words.join(' ')) ? 0 : 1;
    const isInText = words.every((word) => text.includes(word)) ? 0 : 1;
    return [{ entry, rank: 2 * begins + isInText, index }];
  });
  return ranked
    .toSorted((a, b) => a.rank - b.rank || a.index - b.index)
    .slice(0, MAX_ENTRIES)
    .map(({ entry }) => entry);
}

/** The place of the chosen entry after a key; null for keys that do not move. */
export function placeAfter(key: string, at: number, count: number): number | null {
  if (count === 0) return null;
  if (key === 'ArrowDown') return (at + 1) % count;
  if (key === 'ArrowUp') return (at + count - 1) % count;
  return null;
}

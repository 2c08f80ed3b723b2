/** A typo has at most this many edits, and at most a third of the word's length. */
const MAX_EDITS = 2;

/** `Did you mean "status"?` with a leading space; empty if no word is close. */
export function didYouMean(word: string, known: readonly string[]): string {
  const near = nearest(word, known);
  return near === null ? '' : ` Did you mean "${near}"?`;
}

/** The only known word that starts with `word`, otherwise the closest in spelling; null if none is close. */
export function nearest(word: string, known: readonly string[]): string | null {
  const longer = known.filter((each) => word.length > 1 && each.startsWith(word));
  if (longer.length === 1) return longer[0] ?? null;
  const limit = Math.min(MAX_EDITS, Math.floor(word.length / 3));
  const [best] = known
    .map((each) => ({ each, edits: editsBetween(word, each) }))
    .filter(({ edits }) => edits <= limit)
    .toSorted((one, other) => one.edits - other.edits);
  return best?.each ?? null;
}

/** Letters inserted, deleted, replaced or swapped with their neighbour (optimal string alignment). */
function editsBetween(one: string, other: string): number {
  let before: number[] = [];
  let above = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (let row = 1; row <= one.length; row += 1) {
    const line = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const at = (list: readonly number[], index: number) => list[index] ?? Infinity;
      const isSame = one[row - 1] === other[column - 1];
      const isSwapped =
        one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1] && !isSame;
      line[column] = Math.min(
        at(above, column) + 1,
        at(line, column - 1) + 1,
        at(above, column - 1) + (isSame ? 0 : 1),
        isSwapped ? at(before, column - 2) + 1 : Infinity,
      );
    }
    before = above;
    above = line;
  }
  return above[other.length] ?? Infinity;
}

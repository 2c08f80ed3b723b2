/** Cuts `bytes` at the given places, whatever their order; places outside are left out. */
export function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const inside = [...new Set(places)].filter((at) => at > 0 && at < bytes.length);
  const ends = [...inside.toSorted((a, b) => a - b), bytes.length];
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

/** Cuts `bytes` at the given places, whatever their order; places outside are left out. */
export function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const inside = [...new Set(places)].filter((at) => at > 0 && at < bytes.length);
  const ends = [...inside.toSorted((a, b) => a - b), bytes.length];
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

/**
 * Where to cut bytes: at each byte about the end of a line, where readers change what they do, and at each `step`th
 * of the others, inside a line.
 */
export function cutsOf(bytes: Buffer, step: number): readonly number[] {
  const isByBreak = (at: number) => bytes.subarray(Math.max(0, at - 2), at + 2).includes(0x0a);
  return [...bytes.keys()].filter((at) => at % step === 0 || isByBreak(at));
}

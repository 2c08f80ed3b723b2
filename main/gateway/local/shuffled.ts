/** The whole numbers below `count` in random order, each once; it costs what is taken of it. `random` is in [0, 1). */
export function* shuffled(count: number, random: () => number): Generator<number, void> {
  const moved = new Map<number, number>();
  for (let at = 0; at < count; at += 1) {
    const chosen = at + Math.floor(random() * (count - at));
    yield moved.get(chosen) ?? chosen;
    moved.set(chosen, moved.get(at) ?? at);
  }
}

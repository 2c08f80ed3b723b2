import { setTimeout as sleep } from 'node:timers/promises';
import type { Arena } from './arena.ts';
import { type Attack, type Counts, run } from './attacks.ts';

export interface Verdict {
  readonly name: string;
  readonly counts: Counts;
  readonly rssMb: number;
  readonly worstHealthMs: number;
  /** Empty if it was withstood. */
  readonly findings: readonly string[];
}

export interface Bounds {
  readonly rssMb: number;
  readonly healthMs: number;
}

const SAMPLE_MS = 50;
/** For attacks that come to an end by themselves, on a machine that is busy with other work. */
const END_MS = 60_000;

/** Makes one attack, with a part of its callers, and judges what it did. */
export async function assault(
  attack: Attack,
  arena: Arena,
  random: () => number,
  {
    share,
    limitMs,
    bounds,
  }: { readonly share: number; readonly limitMs: number; readonly bounds: Bounds },
): Promise<Verdict> {
  let rssMb = 0;
  const sampling = setInterval(() => (rssMb = Math.max(rssMb, arena.rssMb())), SAMPLE_MS);
  arena.worstHealthMs();
  arena.loops.on = attack.isLoop === true;
  const callers = Math.ceil(attack.callers * share);
  const counts = await run(attack, arena, random, {
    callers,
    limitMs: attack.closedAfterMs === undefined ? END_MS : limitMs,
  });
  arena.loops.on = false;
  // An answer that is still under way counts too.
  await sleep(2 * SAMPLE_MS);
  clearInterval(sampling);
  const worstHealthMs = Math.round(arena.worstHealthMs());
  const mayBeOpen = limitMs < (attack.closedAfterMs ?? 0);
  const findings = Object.keys(counts)
    .filter((status) => !attack.allowed.test(status) && !(status === 'open' && mayBeOpen))
    .map((status) => `${counts[status]} × ${status}`);
  if (!arena.isAlive()) findings.push('the program ended');
  if (rssMb > bounds.rssMb) findings.push(`over ${bounds.rssMb} MB`);
  if (worstHealthMs > bounds.healthMs) findings.push(`/healthz over ${bounds.healthMs} ms`);
  return { name: attack.name, counts, rssMb, worstHealthMs, findings };
}

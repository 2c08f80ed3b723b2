import { z } from 'zod';
import { mapUpstreams, UPSTREAM_IDS } from '#shared/ids.ts';
import type { AttemptRow, RequestRow } from '#shared/live.ts';
import { OUTCOMES, type Outcome, type OutcomeCounts } from '#shared/live.ts';
import { outcomeOf } from '#shared/outcome.ts';

/** Counts requests by how they ended, and per upstream once for each request. */
export interface Outcomes {
  ended(row: RequestRow): void;
  view(): OutcomeCounts;
  save(): unknown;
  /** From what `save` returned; invalid input is ignored. */
  restore(saved: unknown): void;
}

const count = z.int().nonnegative();
const tally = z.object({ asked: count, answered: count, retries: count, polls: count });
const savedSchema = z.object({
  ended: z.object({ 'first-choice': count, 'fell-back': count, failed: count }),
  upstreams: z.object(mapUpstreams(() => tally)),
});

const NO_TALLY = { asked: 0, answered: 0, retries: 0, polls: 0 };

export function createOutcomes(): Outcomes {
  const ended = Object.fromEntries(OUTCOMES.map((outcome) => [outcome, 0])) as Record<
    Outcome,
    number
  >;
  const upstreams = mapUpstreams(() => ({ ...NO_TALLY }));
  const view = (): OutcomeCounts => ({
    ended: { ...ended },
    upstreams: mapUpstreams((id) => ({ ...upstreams[id] })),
  });
  return {
    ended(row) {
      const outcome = outcomeOf(row);
      if (outcome !== null) ended[outcome] += 1;
      for (const [index, { upstream: id, provider, polls }] of row.attempts.entries()) {
        const isThere = ({ upstream }: AttemptRow) => upstream === id;
        const before = row.attempts.slice(0, index).filter(isThere);
        const of = upstreams[id];
        of.polls += polls;
        if (before.some((each) => each.provider === provider)) of.retries += 1;
        if (before.length > 0) continue;
        of.asked += 1;
        if (row.state === 'done' && row.attempts.filter(isThere).some(gaveAnswer)) of.answered += 1;
      }
    },
    view,
    save: view,
    restore(saved) {
      const known = savedSchema.safeParse(saved).data;
      if (known === undefined) return;
      Object.assign(ended, known.ended);
      for (const id of UPSTREAM_IDS) Object.assign(upstreams[id], known.upstreams[id]);
    },
  };
}

function gaveAnswer({ reason, endMs }: AttemptRow): boolean {
  return reason === null && endMs !== null;
}

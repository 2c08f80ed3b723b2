import { join } from 'node:path';
import { messageOf } from '../../main/platform/errors.ts';
import { startLink, type Children } from '../kit/children.ts';
import type { Target } from '../kit/programs.ts';
import type { AnswerKind } from './exchange.ts';

/** What to send to either program, and how much of it. */
export interface Load {
  readonly kind: AnswerKind;
  readonly connections: number;
  /** The first requests of the connections are spread evenly over this time. */
  readonly spreadMs: number;
  /** Requests for each connection at most … */
  readonly requestsEach: number;
  /** … and none is begun after this time. */
  readonly ms: number;
}

/** A load for a target. */
export interface Job extends Load {
  readonly port: number;
  /** The target whose CPU time is read; null if there is none between load and upstream. */
  readonly pid: number | null;
}

/** What came of a job. */
export interface Outcome {
  readonly requests: number;
  readonly events: number;
  readonly wrong: number;
  /** The first few wrong answers, in words. */
  readonly mismatches: readonly string[];
  /** NaN if no CPU time was read. */
  readonly cpuMs: number;
  /** Of each stream: time to the first token less the upstream's own. */
  readonly firstTokensUs: readonly number[];
}

/** CPU time of the target for each of what came of a job. */
export const cpuUsPer = (unit: 'requests' | 'events', outcome: Outcome): number =>
  (outcome.cpuMs * 1000) / outcome[unit];

/** Sends a load at a target, from a process of its own; rejects when a single answer was wrong or none came. */
export type Loader = (name: string, target: Target, load: Load) => Promise<Outcome>;

/** Starts the load generator. */
export async function startLoader(children: Children): Promise<Loader> {
  const generator = startLink<'ready' | Outcome>(children, join(import.meta.dirname, 'load.ts'));
  await generator.next();
  return async (name, { port, child }, load) => {
    const job: Job = { ...load, port, pid: child?.pid ?? null };
    const outcome = (await generator.ask(job).catch((error: unknown) => {
      throw new Error(`${name}, ${load.kind}: ${messageOf(error)}`);
    })) as Outcome;
    if (outcome.wrong > 0 || outcome.requests === 0) {
      const counts = `${outcome.wrong} wrong among ${outcome.requests} answers`;
      throw new Error([`${name}, ${load.kind}: ${counts}`, ...outcome.mismatches].join('\n  '));
    }
    return outcome;
  };
}

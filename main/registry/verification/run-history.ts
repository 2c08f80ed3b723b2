import type { Clock } from '../../platform/clock.ts';
import type { VerificationSubject, VerifierNews } from '../verifier-port.ts';
import {
  type Plan,
  planOf,
  remembered,
  type RunMemory,
  withEnd,
  withNews,
  withRouted,
  withStart,
} from './schedule.ts';
import type { RunEnding } from './verdict.ts';

/** The runs of all providers, and when the next are due. */
export interface RunHistory {
  plan(subject: VerificationSubject): Plan;
  isRequested(subject: VerificationSubject): boolean;
  /** Whether a test inference would be the first since the provider was enrolled or changed. */
  isFirst(subject: VerificationSubject): boolean;
  noteNews(subject: VerificationSubject, news: VerifierNews): void;
  /** Called for each request, so it must be cheap; a provider that was never planned is skipped. */
  routed(id: string, result: 'served' | 'failed'): void;
  begin(subject: VerificationSubject): void;
  end(subject: VerificationSubject, ending: RunEnding): void;
  forget(id: string): void;
}

/** Kept in memory only. */
export function createRunHistory(clock: Clock, random: () => number): RunHistory {
  const memories = new Map<string, RunMemory>();
  /** By provider: the generation of the last test inference. */
  const tried = new Map<string, number>();

  function get({ id, verification }: VerificationSubject): RunMemory {
    const known = memories.get(id);
    if (known !== undefined) return known;
    const now = { ticks: clock.ticks(), wallMs: clock.now() };
    const fresh = remembered(verification, now, random);
    memories.set(id, fresh);
    return fresh;
  }

  function update(subject: VerificationSubject, change: (memory: RunMemory) => RunMemory): void {
    memories.set(subject.id, change(get(subject)));
  }

  return {
    plan: (subject) => planOf(subject.verification, get(subject), clock.ticks()),
    isRequested: (subject) => get(subject).requested,
    isFirst: ({ id, generation, verification }) =>
      verification.state === 'pending' && tried.get(id) !== generation,
    noteNews: (subject, news) => update(subject, (memory) => withNews(memory, news)),
    routed(id, result) {
      const memory = memories.get(id);
      if (memory !== undefined) memories.set(id, withRouted(memory, result, clock.ticks()));
    },
    begin: (subject) => update(subject, (memory) => withStart(memory, clock.ticks())),
    end(subject, ending) {
      const { deferred, leftOut, inference } = ending;
      const tested = inference !== 'none';
      if (tested) tried.set(subject.id, subject.generation);
      const run = { deferred, leftOut, tested, proven: inference === 'passed' };
      update(subject, (memory) => withEnd(memory, run, { nowTicks: clock.ticks(), random }));
    },
    forget(id) {
      memories.delete(id);
      tried.delete(id);
    },
  };
}

import type { Clock } from '../../platform/clock.ts';

/** A call to an engine, from its sending to its end. */
export interface EngineCall {
  /**
   * When the engine is to be taken for hung, in clock ticks. Later while other calls show that it works: then
   * this one waits for its turn.
   */
  readonly hungAt: () => number;
  content(): void;
  ended(): void;
}

/** Hung as soon as one of the two says so. */
export function bothOf(first: EngineCall | null, second: EngineCall | null): EngineCall | null {
  if (first === null || second === null) return first ?? second;
  return {
    hungAt: () => Math.min(first.hungAt(), second.hungAt()),
    content() {
      first.content();
      second.content();
    },
    ended() {
      first.ended();
      second.ended();
    },
  };
}

/** What the running calls to each engine say together: one that answers somebody has not hung. */
export interface EngineActivity {
  /** `limitMs`: the silence after which this call, were it the only one, would mean that the engine has hung. */
  sent(id: string, limitMs: number): EngineCall;
}

interface Engine {
  /** Limits of the calls without content. */
  readonly silent: Set<{ readonly limitMs: number }>;
  /** Calls with content that have not ended. */
  answering: number;
  /** When it last gave somebody something, in clock ticks. */
  aliveAt: number;
}

export function createEngineActivity(clock: Clock): EngineActivity {
  const engines = new Map<string, Engine>();

  function sent(id: string, limitMs: number): EngineCall {
    const engine = engines.get(id) ?? { silent: new Set(), answering: 0, aliveAt: clock.ticks() };
    engines.set(id, engine);
    const sentAt = clock.ticks();
    const own = { limitMs };
    let state: 'silent' | 'answering' | 'ended' = 'silent';
    engine.silent.add(own);
    const leave = (next: typeof state) => {
      if (state === 'silent') engine.silent.delete(own);
      else engine.answering -= 1;
      state = next;
    };
    return {
      hungAt: () =>
        engine.answering > 0
          ? clock.ticks() + limitMs
          : Math.max(sentAt, engine.aliveAt) + longest(engine.silent),
      content() {
        if (state !== 'silent') return;
        leave('answering');
        engine.answering += 1;
        engine.aliveAt = clock.ticks();
      },
      ended() {
        if (state === 'ended') return;
        if (state === 'answering') engine.aliveAt = clock.ticks();
        leave('ended');
        if (engine.silent.size + engine.answering === 0) engines.delete(id);
      },
    };
  }

  return { sent };
}

/** A short prompt may wait behind one that takes long to read. */
function longest(silent: Engine['silent']): number {
  let longestMs = 0;
  for (const { limitMs } of silent) longestMs = Math.max(longestMs, limitMs);
  return longestMs;
}

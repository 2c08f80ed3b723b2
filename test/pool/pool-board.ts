import { CLAIM_MS, type PoolAnswer, type PoolUpdate } from '../../main/pool/protocol.ts';
import type { ManualClock } from '../support/clock.ts';

/* What a pool's database does with what gateways send, in memory and in the time of a test. */

interface Row {
  readonly run: string;
  readonly version: number;
  readonly ticks: number;
  readonly state: PoolUpdate['circuits'][number];
}

interface Claim {
  readonly run: string;
  readonly untilTicks: number;
  readonly wantedTicks: number;
}

export interface PoolBoard {
  exchange(run: string, update: PoolUpdate): PoolAnswer;
}

export function createPoolBoard(clock: ManualClock): PoolBoard {
  const rows = new Map<string, Row>();
  const claims = new Map<string, Claim>();
  let versions = 0;

  function put(run: string, state: PoolUpdate['circuits'][number]): void {
    const before = rows.get(state.name);
    if (before !== undefined && before.version > state.base) return;
    versions += 1;
    rows.set(state.name, { run, version: versions, ticks: clock.ticks(), state });
  }

  function claim(run: string, name: string): void {
    const before = claims.get(name);
    const isFree = before === undefined || before.run === run || before.untilTicks < clock.ticks();
    const untilTicks = clock.ticks() + CLAIM_MS;
    const wantedTicks = before?.run === run ? before.wantedTicks : -Infinity;
    claims.set(
      name,
      isFree ? { run, untilTicks, wantedTicks } : { ...before, wantedTicks: clock.ticks() + 2500 },
    );
  }

  return {
    exchange(run, update) {
      for (const state of update.circuits) put(run, state);
      for (const name of update.released) if (claims.get(name)?.run === run) claims.delete(name);
      for (const name of update.claims) claim(run, name);
      return {
        circuits: [...rows.values()]
          .filter(({ version }) => version > update.since)
          .map(({ run: by, version, ticks, state }) => {
            const left = (ms: number) => Math.max(0, ms - (clock.ticks() - ticks));
            const { cooldown, skips } = state;
            return {
              name: state.name,
              resets: state.resets,
              cooldown: cooldown && { ...cooldown, leftMs: left(cooldown.leftMs) },
              skips: skips.map((skip) => ({ ...skip, leftMs: left(skip.leftMs) })),
              version,
              isOwn: by === run,
            };
          }),
        inFlight: {},
        claims: [...claims]
          .filter(([name, { run: by, untilTicks }]) => {
            return by === run && untilTicks > clock.ticks() && update.claims.includes(name);
          })
          .map(([name, { wantedTicks }]) => ({ name, isWanted: wantedTicks > clock.ticks() })),
      };
    },
  };
}

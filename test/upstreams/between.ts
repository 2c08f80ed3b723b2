import type { Clock } from '../../main/platform/clock.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { answers, type Script, startUpstream, type Upstream } from '../support/upstream.ts';
import { at } from '../support/words.ts';
import type { System } from './system.ts';

/** The answer of the upstream behind the system. */
export const NEXT = 'from the next';

/** How an answer comes to its caller. `assembled`: whole, while the system is asked for a stream. */
export const WAYS = ['streamed', 'assembled', 'whole'] as const;
export type Way = (typeof WAYS)[number];

/** Where a system is put that is to be asked so: only hosts can be asked for whole answers. */
export const placed = (place: System['place'], way: Way) =>
  way === 'whole'
    ? ({ place: 'hosted_a', settings: { HOSTED_A_ASSEMBLE: 'false' } } as const)
    : { place, settings: {} };

export interface Between {
  readonly gateway: TestGateway;
  readonly url: string;
  readonly system: Upstream;
  readonly next: Upstream;
}

/** A gateway that asks a system first and `hosted_b`, which is a plain good one, next. */
export async function startBetween(
  place: System['place'],
  script: Script,
  settings: Readonly<Record<string, string>> = {},
  clock?: Clock,
): Promise<Between> {
  const system = await startUpstream();
  system.script = script;
  const next = await startUpstream(answers(NEXT));
  const name = place.toUpperCase();
  const all = {
    ...at({ [place]: system.url, hosted_b: next.url }),
    [`${name}_PROTOCOLS`]: 'chat',
    HOSTED_B_PROTOCOLS: 'chat',
    HEDGE: 'all',
    HEALTH_CHECKS: 'false',
    ...settings,
  };
  const gateway = await startGateway(all, clock);
  return { gateway, url: gateway.url, system, next };
}

/** What the gateway keeps of a system: failures in its circuit, and for how long it is left out. */
export function keptOf({ host }: TestGateway, place: System['place']) {
  const report = host.snapshot().status;
  const upstream = report.upstreams.find(({ id }) => id === place);
  const skips = (upstream?.skips ?? []).map(({ reason, model, until }) => ({
    reason,
    ...(model === undefined ? {} : { model }),
    ms: Date.parse(until) - Date.parse(report.timestamp),
  }));
  return { fails: report.circuits[place]?.fails ?? 0, skips };
}

import type { Circuits } from '../circuit/circuits.ts';
import type { Latencies } from './latencies.ts';
import type { Stats } from './stats.ts';

/** What the gateway has seen of a provider; times in milliseconds (interface 2.2). */
export interface ProviderTraffic {
  readonly ewmaTtft: number | null;
  readonly ewmaLatency: number | null;
  readonly concurrentRequests: number;
  readonly totalRequests: number;
  readonly successCount: number;
}

/** Gathers it from where it is counted. */
export function providerTraffic(
  id: string,
  {
    circuits,
    latencies,
    stats,
  }: { readonly circuits: Circuits; readonly latencies: Latencies; readonly stats: Stats },
): ProviderTraffic {
  const { ttft, requests, successes } = circuits.at(id).breaker.health;
  return {
    ewmaTtft: ttft === null ? null : Math.round(ttft.value),
    ewmaLatency: latencies.at(id).ewmaMs,
    concurrentRequests: stats.inFlightAt(id),
    totalRequests: requests,
    successCount: successes,
  };
}

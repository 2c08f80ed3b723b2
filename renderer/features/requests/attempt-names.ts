import type { AttemptRow, RequestRow } from '#shared/live.ts';
import type { UpstreamReport } from '#shared/status.ts';

/** Display names by upstream id. */
export type Labels = ReadonlyMap<string, string>;

/** The names the user gave the upstreams. */
export function labelsOf(upstreams: readonly UpstreamReport[]): Labels {
  return new Map(upstreams.map(({ id, label }) => [id, label]));
}

/** Enough of a machine's id to tell two apart. */
const SHORT_ID = 8;

/** Whom an attempt asked; the machine too where the request was given to more than one. */
export function nameOf(
  { upstream, provider }: AttemptRow,
  { attempts }: RequestRow,
  labels: Labels,
): string {
  const label = labels.get(upstream) ?? upstream;
  const isOneOfMany = attempts.some(
    (other) => other.provider !== null && other.provider !== provider,
  );
  return provider !== null && isOneOfMany ? `${label} ${provider.slice(0, SHORT_ID)}` : label;
}

import type { AttemptRow, RequestRow } from '#shared/live.ts';
import type { MachineNames } from '#shared/ids.ts';
import { machinesIn } from '#shared/machine-names.ts';
import type { UpstreamReport } from '#shared/status.ts';
import { distinctNames, shortId } from '../../text/machine-names.ts';
import { t } from '../../text/t.ts';
import type { LiveData } from '../../api/live-data.ts';

/** Display names by the id of an upstream or a machine. */
export type Labels = ReadonlyMap<string, string>;

/** The names the user gave them. */
export function labelsOf(
  upstreams: readonly UpstreamReport[],
  machines: MachineNames = {},
): Labels {
  const named = upstreams.map(({ id, label }) => [id, label] as const);
  return new Map([...named, ...distinctNames(machines)]);
}

/** As the feed tells them. */
export function feedLabels({ status, requests }: Pick<LiveData, 'status' | 'requests'>): Labels {
  return labelsOf(status.upstreams, machinesIn(requests));
}

/** With those of the machines of a request that may be in no list. */
export function labelsWith(row: RequestRow | null, labels: Labels): Labels {
  if (row === null) return labels;
  return new Map([...distinctNames(machinesIn([row])), ...labels]);
}

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
  return provider !== null && isOneOfMany ? placeName(upstream, provider, labels) : label;
}

/** The same with its machine in any case. */
export function wholeNameOf({ upstream, provider }: AttemptRow, _: RequestRow, labels: Labels) {
  return placeName(upstream, provider, labels);
}

/** An upstream, and which of its machines where it has several: `Local · tower`. */
export function placeName(upstream: string, provider: string | null, labels: Labels): string {
  const label = labels.get(upstream) ?? upstream;
  return provider === null ? label : t.usage.machineOf(label, machineName(provider, labels));
}

export function machineName(id: string, labels: Labels): string {
  return labels.get(id) ?? shortId(id);
}

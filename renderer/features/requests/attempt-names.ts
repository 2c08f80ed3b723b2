import type { AttemptRow, RequestRow } from '#shared/live.ts';
import type { MachineNames } from '#shared/ids.ts';
import { distinctNames, machinesIn, unknownMachine } from '#shared/machine-names.ts';
import type { UpstreamReport } from '#shared/status.ts';
import * as t from '../../text/t.ts';
import type { LiveData } from '../../api/live-data.ts';

export type Labels = ReadonlyMap<string, string>;

export function labelsOf(
  upstreams: readonly UpstreamReport[],
  machines: MachineNames = {},
): Labels {
  const named = upstreams.map(({ id, label }) => [id, label] as const);
  return new Map([...named, ...distinctNames(machines)]);
}

export const feedLabels = ({ status, requests }: Pick<LiveData, 'status' | 'requests'>): Labels =>
  labelsOf(status.upstreams, machinesIn(requests));

/** Adds the names of a request's machines, which may not be in the list. */
export function labelsWith(row: RequestRow | null, labels: Labels): Labels {
  if (row === null) return labels;
  return new Map([...distinctNames(machinesIn([row])), ...labels]);
}

/** The upstream of an attempt, with its machine if the request went to more than one. */
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

export const wholeNameOf = ({ upstream, provider }: AttemptRow, _: RequestRow, labels: Labels) =>
  placeName(upstream, provider, labels);

/** An upstream, with the machine if given: `Local · tower`. */
export function placeName(upstream: string, provider: string | null, labels: Labels): string {
  const label = labels.get(upstream) ?? upstream;
  return provider === null ? label : t.usage.machineOf(label, machineName(provider, labels));
}

export const machineName = (id: string, labels: Labels): string =>
  labels.get(id) ?? unknownMachine(id);

import type { Outcome } from './load.ts';
import { median, quantile } from './numbers.ts';
import type { Compared, Round } from './rounds.ts';

/** A ratio, with its smallest and greatest value among the rounds. */
export interface Ratio {
  readonly value: number;
  /** Null where all rounds were taken together. */
  readonly range: { readonly from: number; readonly to: number } | null;
}

/** One figure of all compared targets, and the gateway's ratios to the others. */
export interface Comparison {
  readonly values: Readonly<Record<Compared, number | null>>;
  readonly toBare: Ratio | null;
  readonly toNginx: Ratio | null;
}

/** All figures of one run. */
export interface Summary {
  readonly cpuUsPerRequest: Comparison;
  readonly cpuUsPerEvent: Comparison;
  readonly addedFirstTokenP50Us: Comparison;
  readonly addedFirstTokenP99Us: Comparison;
  readonly directFirstTokenP99Us: number;
  readonly assembledCpuUsPerEvent: number;
  /** Median latency past a refusing `local`, over the upstream asked directly … */
  readonly failoverOverDirectUs: number;
  /** … and over the same gateway without a `local`. */
  readonly failoverOverGatewayUs: number;
  /** Median latency past an open circuit, over the upstream asked directly. */
  readonly openCircuitOverDirectUs: number;
}

/** Boils the rounds down to medians and ratios. */
export function summarise(rounds: readonly Round[]): Summary {
  const overRounds = (figure: (round: Round) => number) => median(rounds.map(figure));
  return {
    cpuUsPerRequest: compare(rounds, ({ plain }, of) => cpuUsPer('requests', plain[of])),
    cpuUsPerEvent: compare(rounds, ({ streams }, of) => cpuUsPer('events', streams[of])),
    addedFirstTokenP50Us: compareAdded(rounds, 0.5),
    addedFirstTokenP99Us: compareAdded(rounds, 0.99),
    directFirstTokenP99Us: firstTokenUs(rounds, 'direct', 0.99) ?? Number.NaN,
    assembledCpuUsPerEvent: overRounds(
      ({ assembled }) => cpuUsPer('events', assembled) ?? Number.NaN,
    ),
    failoverOverDirectUs: overRounds(
      ({ single }) => single.failingOver.latencyP50Us - single.direct.latencyP50Us,
    ),
    failoverOverGatewayUs: overRounds(
      ({ single }) => single.failingOver.latencyP50Us - single.gateway.latencyP50Us,
    ),
    openCircuitOverDirectUs: overRounds(
      ({ single }) => single.passingBy.latencyP50Us - single.direct.latencyP50Us,
    ),
  };
}

type Figure = (round: Round, of: Compared) => number | null;

/** CPU time of the target for each of what came of a job; null where it was not measured. */
export function cpuUsPer(unit: 'requests' | 'events', outcome: Outcome | null): number | null {
  if (outcome === null || outcome.cpuMs === null) return null;
  return (outcome.cpuMs * 1000) / outcome[unit];
}

/** Ratios within each round, so that drift between rounds falls out; their median counts. */
function compare(rounds: readonly Round[], figure: Figure): Comparison {
  const ratioTo = (other: Compared): Ratio | null => {
    const ratios = rounds.flatMap((round) => {
      const [ours, theirs] = [figure(round, 'gateway'), figure(round, other)];
      return ours === null || theirs === null ? [] : [ours / theirs];
    });
    if (ratios.length === 0) return null;
    const range = { from: Math.min(...ratios), to: Math.max(...ratios) };
    return { value: median(ratios), range };
  };
  return {
    values: mediansOf(rounds, figure),
    toBare: ratioTo('bare'),
    toNginx: ratioTo('nginx'),
  };
}

/**
 * Time to the first token beyond the upstream asked directly, over the streams of all rounds: of those in one
 * round the slowest hundredth is a handful, which one pause more or less decides.
 */
function compareAdded(rounds: readonly Round[], q: number): Comparison {
  const directUs = firstTokenUs(rounds, 'direct', q);
  const added = (of: Compared): number | null => {
    const us = firstTokenUs(rounds, of, q);
    return us === null || directUs === null ? null : us - directUs;
  };
  const values = { bare: added('bare'), nginx: added('nginx'), gateway: added('gateway') };
  // Beside one that adds nothing that can be told from noise there is no ratio.
  const to = (other: number | null): Ratio | null =>
    values.gateway === null || other === null || other <= 0
      ? null
      : { value: values.gateway / other, range: null };
  return { values, toBare: to(values.bare), toNginx: to(values.nginx) };
}

function firstTokenUs(rounds: readonly Round[], of: Compared | 'direct', q: number): number | null {
  const all = rounds.flatMap(({ streams }) => streams[of]?.firstTokensUs ?? []);
  return all.length === 0 ? null : quantile(all, q);
}

function mediansOf(rounds: readonly Round[], figure: Figure): Comparison['values'] {
  const of = (target: Compared): number | null => {
    const values = rounds.map((round) => figure(round, target)).filter((value) => value !== null);
    return values.length === 0 ? null : median(values);
  };
  return { bare: of('bare'), nginx: of('nginx'), gateway: of('gateway') };
}

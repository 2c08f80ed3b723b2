import type { Outcome } from './load.ts';
import { median } from './numbers.ts';
import type { Compared, Round } from './rounds.ts';

/** A ratio with its smallest and greatest value among the rounds. */
export interface Ratio {
  readonly value: number;
  readonly from: number;
  readonly to: number;
}

/** One figure of all compared targets: medians over the rounds, and the gateway's ratios to the others. */
export interface Comparison {
  readonly medians: Readonly<Record<Compared, number | null>>;
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
    addedFirstTokenP50Us: compareMedians(rounds, (round, of) =>
      addedUs(round, of, 'firstTokenP50Us'),
    ),
    addedFirstTokenP99Us: compareMedians(rounds, (round, of) =>
      addedUs(round, of, 'firstTokenP99Us'),
    ),
    directFirstTokenP99Us: overRounds(({ streams }) => streams.direct.firstTokenP99Us),
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

function cpuUsPer(unit: 'requests' | 'events', outcome: Outcome | null): number | null {
  if (outcome === null || outcome.cpuMs === null) return null;
  return (outcome.cpuMs * 1000) / outcome[unit];
}

function addedUs(
  { streams }: Round,
  of: Compared,
  figure: 'firstTokenP50Us' | 'firstTokenP99Us',
): number | null {
  const through = streams[of];
  return through === null ? null : through[figure] - streams.direct[figure];
}

/** Ratios within each round, so that drift between rounds falls out; their median counts. */
function compare(rounds: readonly Round[], figure: Figure): Comparison {
  const ratioTo = (other: Compared): Ratio | null => {
    const ratios = rounds.flatMap((round) => {
      const [ours, theirs] = [figure(round, 'gateway'), figure(round, other)];
      return ours === null || theirs === null ? [] : [ours / theirs];
    });
    if (ratios.length === 0) return null;
    return { value: median(ratios), from: Math.min(...ratios), to: Math.max(...ratios) };
  };
  return {
    medians: mediansOf(rounds, figure),
    toBare: ratioTo('bare'),
    toNginx: ratioTo('nginx'),
  };
}

/** The ratio of the medians: a difference of two tails may be next to nothing in a single round. */
function compareMedians(rounds: readonly Round[], figure: Figure): Comparison {
  const { medians, toBare, toNginx } = compare(rounds, figure);
  const withMedians = (ratio: Ratio | null, other: number | null): Ratio | null =>
    ratio === null || medians.gateway === null || other === null
      ? null
      : { ...ratio, value: medians.gateway / other };
  return {
    medians,
    toBare: withMedians(toBare, medians.bare),
    toNginx: withMedians(toNginx, medians.nginx),
  };
}

function mediansOf(rounds: readonly Round[], figure: Figure): Comparison['medians'] {
  const of = (target: Compared): number | null => {
    const values = rounds.map((round) => figure(round, target)).filter((value) => value !== null);
    return values.length === 0 ? null : median(values);
  };
  return { bare: of('bare'), nginx: of('nginx'), gateway: of('gateway') };
}

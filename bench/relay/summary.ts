import { median, quantile, spreadOf, type Spread } from '../kit/numbers.ts';
import type { Outcome } from '../traffic/load.ts';
import type { Round } from './rounds.ts';
import { COMPARED, type Compared, type OfCompared } from './targets.ts';

/** One figure of all that are compared, and its ratio to bare's in the same round. */
export interface Comparison {
  readonly values: OfCompared<number>;
  readonly toBare: OfCompared<Spread>;
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
    directFirstTokenP99Us: quantile(
      rounds.flatMap(({ direct }) => direct.firstTokensUs),
      0.99,
    ),
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

/** CPU time of the target for each of what came of a job; null if it was not measured. */
export function cpuUsPer(unit: 'requests' | 'events', outcome: Outcome | undefined): number | null {
  if (outcome === undefined || outcome.cpuMs === null) return null;
  return (outcome.cpuMs * 1000) / outcome[unit];
}

/** Those that have a figure. */
function ofEach<T>(figure: (of: Compared) => T | null): OfCompared<T> {
  return Object.fromEntries(
    COMPARED.flatMap((of) => {
      const value = figure(of);
      return value === null ? [] : [[of, value]];
    }),
  );
}

/** Ratios within each round, so that drift between rounds falls out; their median counts. */
function compare(rounds: readonly Round[], figure: Figure): Comparison {
  return {
    values: ofEach(
      (of) => spreadOf(present(rounds.map((round) => figure(round, of))))?.value ?? null,
    ),
    toBare: ofEach((of) => spreadOf(ratiosToBare(rounds, figure, of))),
  };
}

const present = (values: readonly (number | null)[]) => values.filter((value) => value !== null);

/** Beside one that adds nothing that can be told from noise there is no ratio. */
const ratiosToBare = (rounds: readonly Round[], figure: Figure, of: Compared) =>
  rounds.flatMap((round) => {
    const [ours, bare] = [figure(round, of), figure(round, 'bare')];
    return ours === null || bare === null || bare <= 0 ? [] : [ours / bare];
  });

/**
 * Time to the first token beyond the upstream asked directly, over the streams of all rounds: of those in one
 * round the slowest hundredth is a handful, which one pause more or less decides. The quartiles are those of the
 * single rounds.
 */
function compareAdded(rounds: readonly Round[], q: number): Comparison {
  const added = (some: readonly Round[], of: Compared): number | null => {
    const us = some.flatMap(({ streams }) => streams[of]?.firstTokensUs ?? []);
    const direct = some.flatMap((round) => round.direct.firstTokensUs);
    return us.length === 0 ? null : quantile(us, q) - quantile(direct, q);
  };
  const values = ofEach((of) => added(rounds, of));
  const { bare } = values;
  return {
    values,
    toBare: ofEach((of) => {
      const value = values[of];
      const single = spreadOf(ratiosToBare(rounds, (round, name) => added([round], name), of));
      if (single === null || value === undefined || bare === undefined || bare <= 0) return null;
      return { ...single, value: value / bare };
    }),
  };
}

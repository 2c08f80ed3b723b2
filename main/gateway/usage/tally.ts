import { FIGURE_NAMES, type FigureName, type UsageFigures } from '#shared/usage.ts';

/** What figures are counted for: a minute, and what was called during it. */
export interface UsagePlace {
  /** The start of the minute, in wall-clock milliseconds. */
  readonly at: number;
  /** Empty for requests as callers see them. */
  readonly upstream: string;
  readonly provider: string;
  readonly model: string;
  /** Name of the key, for requests with that key; empty for all requests. */
  readonly key: string;
}

type PlaceOfMinute = Omit<UsagePlace, 'at'>;

export type Count = readonly [place: PlaceOfMinute, figures: Partial<UsageFigures>];

export interface Increment {
  readonly place: UsagePlace;
  readonly figures: Record<FigureName, number>;
}

export const NO_USAGE: UsageFigures = Object.fromEntries(
  FIGURE_NAMES.map((name) => [name, 0]),
) as Record<FigureName, number>;

/** Of each figure, a whole number that is stored exactly. */
export const MAX_FIGURE = Number.MAX_SAFE_INTEGER;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

export const minuteOf = (at: number) => at - (at % MINUTE_MS);

/** Callers choose model names: beyond this many places in one write, the rest are counted together, by the hour. */
const MAX_PLACES = 1000;
const OTHERS = 'others';

/** Sums what has happened since the last write. Sums are updated in place, because each request adds three times. */
export function createTally() {
  let increments = new Map<string, Increment>();

  function countedAt(at: number, given: PlaceOfMinute): Increment {
    const known = increments.get(keyOf(at, given));
    if (known !== undefined) return known;
    const isSurplus = increments.size >= MAX_PLACES;
    const place = isSurplus
      ? { ...given, at: at - (at % HOUR_MS), provider: '', model: OTHERS }
      : { ...given, at };
    const key = keyOf(place.at, place);
    const counted = increments.get(key) ?? { place, figures: { ...NO_USAGE } };
    increments.set(key, counted);
    return counted;
  }

  return {
    add(atMs: number, counts: readonly Count[]) {
      const at = minuteOf(atMs);
      for (const [place, added] of counts) {
        const { figures } = countedAt(at, place);
        for (const name of Object.keys(added) as FigureName[]) {
          const sum = figures[name] + Math.round(added[name] ?? 0);
          figures[name] = Math.min(sum || 0, MAX_FIGURE);
        }
      }
    },
    /** Everything added since the last call; resets the counts. */
    take() {
      const taken = [...increments.values()];
      increments = new Map();
      return taken;
    },
  };
}

/** The model comes last, because callers choose it. */
const keyOf = (at: number, { upstream, provider, key, model }: PlaceOfMinute) =>
  `${at}\n${upstream}\n${provider}\n${key}\n${model}`;

/** One thing that goes wrong for a while. */
export type Fault = {
  readonly atMs: number;
  readonly forMs: number;
} & (
  | { readonly kind: 'database_killed' | 'database_stopped' }
  /**
   * `gateway` is its number. `gateway_upgraded`: killed, and started as the version after this one; `way_silent`: what
   * is sent between it and the database arrives late.
   */
  | {
      readonly kind: 'gateway_killed' | 'gateway_upgraded' | 'way_cut' | 'way_silent';
      readonly gateway: number;
    }
);

/** What goes wrong, in the order of its beginnings. */
export type History = readonly Fault[];

const KINDS = [
  'gateway_killed',
  'gateway_upgraded',
  'way_cut',
  'way_silent',
  'database_killed',
  'database_stopped',
] as const;
const MOST_FAULTS = 4;
const BEGIN_MS = 2500;

/** Beginnings that may overlap; a database or a way has one fault at a time. */
export function randomHistory(random: () => number, gateways: number): History {
  const count = 1 + Math.floor(random() * MOST_FAULTS);
  const drawn = Array.from({ length: count }, () => randomFault(random, gateways));
  const faults: Fault[] = [];
  for (const fault of drawn.toSorted((a, b) => a.atMs - b.atMs))
    if (!faults.some((other) => isSamePlace(other, fault))) faults.push(fault);
  return faults;
}

function randomFault(random: () => number, gateways: number): Fault {
  const kind = KINDS[Math.floor(random() * KINDS.length)] ?? 'gateway_killed';
  const times = { atMs: Math.floor(random() * BEGIN_MS), forMs: duration(random) };
  if (kind === 'database_killed' || kind === 'database_stopped') return { ...times, kind };
  return { ...times, kind, gateway: Math.floor(random() * gateways) };
}

/** Mostly short; some outlast the wait for an answer (5 s), few a lease (10 s). */
function duration(random: () => number): number {
  const part = random();
  const [least, most] = part < 0.6 ? [50, 1500] : part < 0.85 ? [1500, 6500] : [8000, 13_000];
  return Math.floor(least + random() * (most - least));
}

/** Where a fault is: `database`, `gateway 1` or `way 1`. */
function placeOf(fault: Fault): string {
  const [what = ''] = fault.kind.split('_');
  return 'gateway' in fault ? `${what} ${fault.gateway}` : what;
}

const isSamePlace = (a: Fault, b: Fault) => placeOf(a) === placeOf(b);

/** For a report. */
export function historyText(history: History): string {
  return history
    .map((fault) => {
      const which = 'gateway' in fault ? ` ${fault.gateway}` : '';
      return `${fault.kind}${which} at ${fault.atMs} ms for ${fault.forMs} ms`;
    })
    .join('; ');
}

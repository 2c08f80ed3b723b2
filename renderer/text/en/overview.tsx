import type { DemoFault, LoadRange, ProvidersSummary } from '#shared/live.ts';
import { counted, formatCount, formatList } from '../format.ts';
import { MACHINES, MODELS, POLLS, RETRIES } from './nouns.ts';

type Capacity = Pick<ProvidersSummary, 'serving' | 'count' | 'models' | 'load'>;

/** `97%`, `0–97%`. */
const rangeText = ({ lowest, highest }: LoadRange) =>
  lowest === highest ? `${highest}%` : `${lowest}–${highest}%`;

/** An upstream that is passed by; `because` is null where it is down. */
export interface Absence {
  readonly label: string;
  readonly because: string | null;
}

export const overview = {
  all: 'All requests',
  track: {
    machines: ({ serving, count }: Capacity) =>
      `${formatCount(serving)} of ${counted(count, MACHINES)} serving`,
    capacity: ({ serving, models, load }: Capacity) =>
      [
        ...(serving === 0 ? [] : [counted(models, MODELS)]),
        ...(load === null ? [] : [`GPU load ${rangeText(load)}`]),
      ].join(' · '),
    extraCalls: (retries: number, polls: number) => {
      const parts = [
        ...(retries > 0 ? [counted(retries, RETRIES)] : []),
        ...(polls > 0 ? [counted(polls, POLLS)] : []),
      ];
      return parts.length === 0 ? null : `+ ${parts.join(', ')}`;
    },
    setUp: (label: string) => (
      <>
        Set up<span className="unseen"> {label}</span>
      </>
    ),
  },
  demo: {
    steps: {
      break: {
        word: '1 Break Local',
        watch: 'Local refuses connections. Hosted A answers, and no request fails.',
      },
      hedge: {
        word: '2 See a hedge',
        watch:
          'Hosted A is slow now. After 2 s, Hosted B is asked as well, and the faster one answers.',
      },
      resume: {
        word: '3 See a stream continued',
        watch:
          'Local drops each answer halfway. Hosted A continues it, and the app sees one answer. After five drops Local is skipped for a while.',
      },
      heal: { word: '4 Heal all', watch: 'Everything is healthy again, and Local answers.' },
    },
    faults: {
      none: 'healthy',
      refuse: 'unreachable',
      '429': '429 limit',
      '500': '500 errors',
      slow: 'slow start',
      cut: 'drops stream',
      stall: 'stalls',
    } satisfies Record<DemoFault, string>,
  },
  headline: {
    none: { subject: 'Nothing can answer now.' },
    servingRest: (absent: readonly Absence[]) => {
      const down = absent.filter(({ because }) => because === null).map(({ label }) => label);
      const out = absent.filter(({ because }) => because !== null);
      return (
        [
          ...(down.length === 0
            ? []
            : [`${formatList(down)} ${down.length === 1 ? 'is' : 'are'} down`]),
          ...out.map(({ label, because }) => `${label} is skipped (${because})`),
        ]
          .map((clause) => `. ${clause}`)
          .join('') + (absent.length === 0 ? '' : '.')
      );
    },
  },
  problems: {
    noProvider: {
      silent: {
        what: (label: string) =>
          `${label} has no machine available: no heartbeat reaches this gateway.`,
        todo: 'Check that the machines are on and can reach it.',
      },
      engine: {
        what: (label: string) => `${label} has no running engine.`,
        todo: 'Start one of its engines.',
      },
      'no-gpu': {
        what: (label: string) => `${label} has an engine, but no GPU was found on its machine.`,
        todo: 'Use the engine directly, or see Machines for what was tried.',
      },
      failed: {
        what: (label: string) => `${label} has no machine available: verification failed.`,
        todo: 'See Machines for the failed checks.',
      },
      paused: {
        what: (label: string) => `${label} is paused on its machines.`,
        todo: 'Resume it there.',
      },
    },
    seeMachines: 'See its machines.',
  },
};

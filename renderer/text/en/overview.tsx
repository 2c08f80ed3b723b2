import type { DemoFault, LoadRange, ProvidersSummary } from '#shared/live.ts';
import { counted, formatCount } from '../format.ts';
import { MACHINES, MODELS } from './nouns.ts';

type Capacity = Pick<ProvidersSummary, 'serving' | 'count' | 'models' | 'load'>;

/** `97%`, `0–97%`. */
const rangeText = ({ lowest, highest }: LoadRange) =>
  lowest === highest ? `${highest}%` : `${lowest}–${highest}%`;

export const overview = {
  all: 'All requests',
  neverSpend: 'Never spend money',
  track: {
    machines: ({ serving, count }: Capacity) =>
      `${formatCount(serving)} of ${counted(count, MACHINES)} serving`,
    capacity: ({ serving, models, load }: Capacity) =>
      [
        ...(serving === 0 ? [] : [counted(models, MODELS)]),
        ...(load === null ? [] : [`GPU load ${rangeText(load)}`]),
      ].join(' · '),
  },
  demo: {
    steps: {
      break: {
        word: '1 Break your GPUs',
        watch: 'Your GPUs refuse connections. Service A answers, and no request fails.',
      },
      hedge: {
        word: '2 See a slow source',
        watch:
          'Service A is slow now. After 2 s, Service B is asked as well, and the faster one answers.',
      },
      resume: {
        word: '3 See a stream continued',
        watch:
          'Your GPUs drop each answer halfway. Service A continues it, and the app sees one answer. After five drops your GPUs are skipped for a while.',
      },
      heal: { word: '4 Heal all', watch: 'Everything is healthy again.' },
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
};

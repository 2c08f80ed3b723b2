import type { ReactNode } from 'react';
import type { DemoFault, LoadRange, ProvidersSummary } from '#shared/live.ts';
import { counted, formatCount, formatList } from '../format.ts';
import { MACHINES, MODELS, POLLS, RETRIES, TIMES } from './nouns.ts';

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
  latest: 'Latest requests',
  all: 'All requests',
  counters: {
    inFlight: 'in flight',
    requests: 'requests',
    'first-choice': 'first choice',
    'fell-back': 'fell back',
    failed: 'failed',
  },
  track: {
    title: 'Upstreams, in fallback order',
    apps: 'Your apps',
    anyModel: 'the model that the app asks for',
    machines: ({ serving, count }: Capacity) =>
      `${formatCount(serving)} of ${counted(count, MACHINES)} serving`,
    capacity: ({ serving, models, load }: Capacity) =>
      [
        ...(serving === 0 ? [] : [counted(models, MODELS)]),
        ...(load === null ? [] : [`GPU load ${rangeText(load)}`]),
      ].join(' · '),
    inFlight: 'in flight',
    firstToken: 'avg. first token',
    answered: 'answered',
    answeredOf: (answered: string, asked: string) => `${answered} of ${asked}`,
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
    startEngine: 'Start an engine on this machine; it is detected automatically.',
    set: (variable: ReactNode) => <>Set {variable}</>,
    reset: {
      word: 'Reset',
      more: '',
      title:
        'Closes the circuit breaker and clears failures and exclusions: the next request tries it',
      done: 'reset; the next request tries it',
    },
    warmUp: {
      word: 'Warm up',
      more: ' now',
      title: 'Starts it now, so that it is ready as a fallback',
      done: 'warming up',
    },
    done: (label: string, done: string) => `${label}: ${done}`,
  },
  poolAway: 'Machines cannot join now, and what other gateways learn is not known here.',
  rules: {
    forceZero: 'Local only',
    onlyLocal: (local: string) =>
      `Requests go to ${local} or fail; paid upstreams are never called.`,
    noPaid: 'No paid upstream is set up.',
    paidMayAnswer: (local: string) => `If ${local} fails, paid upstreams may answer.`,
    warmUp: 'Warm up the on-demand GPU when Local fails',
    warmUpOff: 'Off while “Local only” is on.',
    warmsUp: (label: string) => `${label} starts in the background, ready as a fallback.`,
    startsLate: (label: string) => `${label} starts only when a request reaches it.`,
    held: (variable: string) => (
      <>
        Set by <code>{variable}</code>; change it there and restart.
      </>
    ),
  },
  demo: {
    badge: 'Demo',
    text: 'The upstreams are simulated, and their answers are canned text. Break one above, or take these steps:',
    begin: 'All is healthy, and Local answers. Begin with step 1.',
    own: 'Your own mix: the headline says who answers.',
    traffic: 'Send a request every second',
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
      heal: { word: '4 Heal all', watch: 'All is well: Local answers.' },
    },
    simulate: 'Simulate',
    of: (label: string) => `${label}: `,
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
    unreachable: 'Gateway not reachable.',
    appsGetErrors: 'Apps get connection errors. Below is the last known state.',
    demoTodo: 'Set it back to healthy below and watch it recover.',
    paidOff: 'Paid upstreams are switched off.',
    paidOffTodo: 'Switch “Local only” off to let them answer.',
    openSetting: 'Open the setting',
    bare: 'Nothing is set up yet.',
    bareTodo: 'Tell Inglenook where your engine or a hosted API is.',
    verifying: ' is being verified.',
    verifyingNote: 'It serves as soon as its checks have passed.',
    none: { subject: 'Nothing can answer now.' },
    backIn: (label: string, time: string) => `${label} is back in ${time}.`,
    retriedIn: (label: string, time: string) => `${label} is retried in ${time}.`,
    noneAtAll: 'Requests are refused until one of them is back.',
    stillTried: (label: string) => `Requests still try ${label} first.`,
    untested: ' is next, but untested.',
    untestedTodo: 'Test it below, or send the first request.',
    retried: ' is retried with the next request.',
    serving: 'Serving from ',
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
    starting: ' is starting up.',
    coldStart: ' is next (cold start).',
    waits: (duration: string) => `Requests wait for it, up to ${duration}.`,
    firstToken: (duration: string) => `first token in about ${duration}`,
    order: (labels: readonly string[]) => `Fallback order: ${formatList(labels)}.`,
    othersOff: 'The others are switched off: if it fails, requests fail.',
    noFallback: 'No fallback is set up: if it fails, requests fail.',
    more: (count: number) =>
      count === 1
        ? '1 more upstream needs attention.'
        : `${formatCount(count)} more upstreams need attention.`,
  },
  today: {
    title: 'Today',
    history: 'History',
    requests: 'Requests',
    tokens: 'Tokens',
    spent: 'Spent',
    saved: 'Saved by Local',
  },
  remedies: {
    check: 'Check again',
    machines: 'Show machines',
    changeKey: 'Change key',
    changeModel: 'Change model',
    raiseBudget: 'Raise budget',
  },
  problems: {
    because: (reason: string) => ` (${reason})`,
    at: (address: string) => ` at ${address}`,
    slow: (label: string, count: number) =>
      `${label} was too slow ${counted(count, TIMES)} in a row.`,
    failed: (label: string, count: number, because: string) =>
      `${label} failed ${counted(count, TIMES)} in a row${because}.`,
    failing: (label: string, because: string) => `${label} is failing${because}.`,
    notStarted: (label: string) => `${label} could not be started.`,
    notStartedTodo: 'Check the endpoint at your GPU provider.',
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
    down: (label: string, reason: string) => `${label} does not answer (${reason}).`,
    startOrCorrect: (at: string) => `Start its engine${at}, or correct the address.`,
    check: (at: string) => `Check it${at}.`,
    checkUse: 'Check what else is using it.',
    checkService: (at: string) => `Check its service${at}.`,
    startEngine: (at: string) => `Start its engine${at}.`,
    checkEngine: (at: string) => `Check its engine${at}.`,
    key: (label: string) => `${label} rejected the API key.`,
    keyTodo: 'Set a new one.',
    nearBudget: (label: string, period: 'day' | 'month') =>
      `${label} has spent over 80% of its budget for the ${period}.`,
    budget: (label: string, period: 'day' | 'month') =>
      `${label} has spent its budget for the ${period}.`,
    quota: (label: string) => `${label} is out of quota.`,
    quotaTodo: 'Top up the account.',
    model: (label: string, model: string) =>
      `${label} does not have the model ${model || 'that was requested'}.`,
    modelTodo: 'Choose another.',
    skipped: (label: string, reason: string) => `${label} is skipped: ${reason}.`,
    skippedTodo: 'Requests go to it again once that is over.',
  },
};

import { counted } from '../format.ts';
import { MORE_FAILURES } from './nouns.ts';

/** Colours by meaning: serving, cooling down, broken, on demand, idle. */
export type Tone = 'green' | 'amber' | 'red' | 'blue' | 'grey';

/** A state in a word or two, and what it means, shown on hover and focus. */
export interface StateText {
  readonly word: string;
  readonly means: string;
}

export const states = {
  missing: { word: 'not set up', means: 'It has no address, so no request is sent to it.' },
  needsKey: { word: 'needs a key', means: 'Its address is set, but not its API key.' },
  silent: {
    word: 'no machine reports',
    means: 'None of its machines reports to this gateway, so requests skip it.',
  },
  engine: { word: 'engine down', means: 'Its machines report, but no engine on them answers.' },
  paused: {
    word: 'held back',
    means: 'The owners of its machines keep requests away for now.',
  },
  'no-gpu': {
    word: 'no GPU found',
    means: 'An engine was found on a machine without a GPU, so requests skip it.',
  },
  verifying: {
    word: 'testing',
    means: 'Its machine is being tested. It serves once it passes.',
  },
  loading: { word: 'loading', means: 'Its engine is loading a model.' },
  failed: {
    word: 'test failed',
    means: 'None of its machines passed its test, so requests skip it.',
  },
  off: { word: 'switched off', means: '“Never spend money” is on, and this one costs money.' },
  noBudget: { word: 'budget is 0', means: 'Nothing may be spent on it, so requests skip it.' },
  skipped: {
    word: 'paused',
    means: 'It failed or was too slow several times in a row, so requests skip it for a while.',
  },
  retrying: { word: 'trying again', means: 'Its pause is over, and one request is testing it.' },
  nextRetry: { word: 'tried next', means: 'Its pause is over: the next request tests it.' },
  failing: {
    word: 'failing',
    means: 'Its last requests failed. After a few more it is paused for a while.',
  },
  serving: { word: 'serving', means: 'It has answered, and gets the next request.' },
  standby: {
    word: 'next in line',
    means: 'It has answered, and is called if those before it fail.',
  },
  untested: { word: 'untested', means: 'Neither a request nor a check has called it yet.' },
  down: { word: '', means: 'A check found that it does not answer. Requests still try it.' },
  excluded: {
    word: '',
    means: 'It answered that it cannot serve now. Requests skip it for a while.',
  },
  budget: {
    word: '',
    means: 'Its budget is used up. Requests skip it until the next day or month.',
  },
  warm: { word: 'ready', means: 'Its GPU is running, and it is called if those before it fail.' },
  warming: { word: 'starting', means: 'Its GPU is being started.' },
  warmupFailed: { word: 'did not start', means: 'Its GPU could not be started.' },
  next: { word: 'next', means: 'The next request starts its GPU, and waits for it.' },
  cold: { word: 'off', means: 'Its GPU is off. It is started when those before it fail.' },
} satisfies Record<string, StateText>;

export const stateDetails = {
  paid: 'paid',
  retryIn: (time: string) => `tried again in ${time}`,
  backIn: (time: string) => `back in ${time}`,
  nextRetry: 'next request tests it',
  skippedAfter: (count: number) => `${counted(count, MORE_FAILURES)} until paused`,
  seenByCheck: 'seen by a test',
  waiting: (count: number, time: string) => `${count} waiting, the oldest ${time}`,
  notCalled: 'not called yet',
  answeredCheck: 'tested',
  off: 'off: it starts first',
  starting: (elapsed: string, usual: string | null) =>
    usual === null ? `for ${elapsed}` : `for ${elapsed}, usually ${usual}`,
};

export const machineStates = {
  stopped: { word: 'stopped', means: 'Its agent was shut down.' },
  silent: { word: 'not reporting', means: 'Its agent stopped reporting without shutting down.' },
  paused: {
    word: 'held back',
    means: 'Its owner or one of the owner’s rules keeps requests away.',
  },
  unreachable: {
    word: 'unreachable',
    means: 'It reports, but this gateway cannot connect to it, so requests skip it.',
  },
  'engine-down': { word: 'engine down', means: 'It reports that its engine does not answer.' },
  'check-failed': {
    word: 'check failed',
    means: 'It did not pass its test: requests skip it.',
  },
  loading: states.loading,
  draining: { word: 'finishing', means: 'It finishes running requests and takes no new ones.' },
  verifying: {
    word: 'testing',
    means: 'The gateway is testing it. It serves once it passes.',
  },
  pending: { word: 'waiting', means: 'It is about to be tested.' },
  resting: states.skipped,
  wavering: {
    word: 'unstable',
    means: 'It serves, but its last test failed. Three in a row exclude it.',
  },
  direct: { word: 'used directly', means: 'Requests go to its engine without the agent.' },
  serving: { word: 'serving', means: 'It is tested and answering requests.' },
  idle: { word: 'ready', means: 'It is tested and waiting for requests.' },
} satisfies Record<string, StateText>;

export const agentStates = {
  off: { word: 'switched off', means: 'No agent runs on this machine: it is not shared.' },
  stopping: { word: 'stopping', means: 'Its agent is shutting down.' },
  heldBack: { word: 'held back', means: 'One of the owner’s rules keeps requests away for now.' },
  freed: { word: 'memory freed', means: 'Its models are unloaded for other programs.' },
  taken: {
    word: 'memory still taken',
    means: 'It takes no requests, but not all of its models could be unloaded.',
  },
  changing: { word: 'changing models', means: 'A model is being loaded or unloaded.' },
  starting: { word: 'starting', means: 'Its agent has just started.' },
  noEngine: { word: 'no engine', means: 'It has no engine that could answer.' },
  locked: {
    word: 'engine locked',
    means: 'Its engine requires a key that the agent does not have.',
  },
  noGpu: { word: 'no GPU', means: 'Gateways send requests only to machines with a GPU.' },
  notEnrolled: { word: 'not joined', means: 'It has not joined a gateway.' },
  noContact: { word: 'no contact', means: 'Its reports do not reach its gateway.' },
} satisfies Record<string, StateText>;

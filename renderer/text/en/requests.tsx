import type { ReactNode } from 'react';
import { counted, formatCount, formatList } from '../format.ts';
import { TIMES, TOKENS } from './nouns.ts';

/** The list of requests. */
export const requests = {
  title: 'Requests',
  label: (filter: string) => `Requests, ${filter.toLowerCase()}`,
  which: 'Which requests',
  filters: {
    all: 'All',
    'first-choice': 'First choice',
    'fell-back': 'Fell back',
    failed: 'Failed',
  },
  nothing: 'No matching requests',
  none: {
    all: 'No request on record matches.',
    'first-choice': 'None was answered by the first choice.',
    'fell-back': 'None needed a fallback.',
    failed: 'None failed.',
  },
  kept: 'Switchyard keeps the last 1,000 answered requests and the last 1,000 that failed or were cancelled. It never stores prompts or answers.',
  showAll: 'Show all',
  search: 'Search requests',
  searchHint: 'Search id, model, app, error ( / )',
  facets: {
    upstream: { label: 'Upstream', all: 'All upstreams' },
    machine: { label: 'Machine', all: 'All machines' },
    model: { label: 'Model', all: 'All models' },
    key: { label: 'Key', all: 'All keys' },
    reason: { label: 'Reason', all: 'All reasons' },
  },
  newRows: (count: number) => `${formatCount(count)} new · Show`,
  noModel: 'no model named',
  first: {
    title: 'No requests yet',
    text: (chat: (text: string) => ReactNode) => (
      <>
        Point a client at the base URL, send a message in {chat('Chat')}, or try one from a
        terminal.
      </>
    ),
  },
  samples: {
    language: 'Language',
    languages: { curl: 'curl', python: 'Python', typescript: 'TypeScript' },
    what: (language: string) => `${language} code`,
  },
  axis: { ticks: ['0', '1 s', '5 s', '30 s', '2 min'] },
  legend: {
    label: 'What the bars mean',
    waiting: 'waiting',
    answering: 'answering',
    silent: 'silent',
    failed: 'failed',
    outrun: 'lost the race',
    broken: 'dropped',
    starting: 'on-demand GPU starting',
    hedge: 'hedge',
    handover: 'continued',
    predicted: 'predicted first token',
    scale: 'time axis is logarithmic',
  },
  notes: { hedge: 'hedge', resumedBy: (name: string) => `continued by ${name}` },
  outcome: {
    done: 'done',
    failed: (status: number | null) => (status === null ? 'failed' : `failed · ${status}`),
    dropped: 'dropped',
    cancelled: 'cancelled',
    silent: (duration: string) => `silent for ${duration}`,
    answering: 'answering',
    switching: 'switching upstream',
    waiting: 'waiting',
  },
  who: {
    inTurn: (names: readonly string[]) => names.join(', then '),
    atOnce: (names: readonly string[]) => formatList(names),
    none: 'No upstream',
    choosing: 'choosing',
  },
  /** Whether a reason can be said of several upstreams at once. */
  isOfSeveral: (reason: string) => /^(?!.* it\b)(was|timed out|answered)/.test(reason),
  passed: (names: readonly string[], reason: string) =>
    `${formatList(names)} ${names.length > 1 ? reason.replace(/^was /, 'were ') : reason}`,
  whyPassed: (passed: readonly string[]) => passed.join('; '),
  tokens: (count: number, estimated: boolean) =>
    `${estimated ? '≈ ' : ''}${counted(count, TOKENS)}`,
  notStreamed: 'not streamed',
  browser: 'a browser',
};

/** The clauses that tell a request's course. */
export const story = {
  together: (clauses: readonly string[]) => clauses.join('; '),
  withPassed: (rest: string, passed: string) => `${rest} (${passed})`,
  whole: (text: string) => `${text}.`,
  noneCalled: 'no upstream called yet',
  answered: (name: string) => `${name} answered`,
  errorPassedOn: 'the error was passed on',
  noneCallable: 'no upstream could be called',
  noneAnswered: 'no upstream answered',
  incomplete: 'the answer stayed incomplete',
  left: 'the app disconnected',
  clause: (name: string, predicate: string) => `${name} ${predicate}`,
  calledAsWell: (name: string) => `${name} was called as well`,
  isSlow: (name: string) => `${name} is slow`,
  dropped: 'dropped the stream',
  called: {
    turn: 'is being called',
    hedge: 'is called as well',
    resume: 'is called to continue the answer',
  },
  diverged: 'gave a different answer',
  resuming: 'is continuing the answer',
  resumed: 'continued the answer',
  answering: 'is answering',
  answeredFirst: 'answered first',
  answeredAlone: 'answered',
};

/** The details of one request, and its report for an issue. */
export const requestDetails = {
  title: 'Request',
  titleAt: (time: string) => `Request at ${time} `,
  newer: 'Newer',
  older: 'Older',
  unknown: 'This request is no longer on record, or it belongs to another gateway.',
  reading: 'Loading…',
  id: 'Request id',
  theId: 'request id',
  report: 'as bug report',
  reportNote: 'No prompt, no answer, no key.',
  code: 'Send one like it',
  answeredBy: 'Answered by',
  endpoint: 'Endpoint',
  model: 'Requested model',
  noModel: 'not specified',
  took: 'Took',
  answer: 'Answer',
  streamed: 'streamed',
  notStreamed: 'not streamed',
  status: 'HTTP status',
  noStatus: 'not yet',
  key: 'Key',
  namedKey: (name: string, masked: string) => `${name} (${masked})`,
  from: 'From',
  app: 'App',
  noUpstreamYet: 'none yet',
  noUpstream: 'none',
  attempts: 'Attempts',
  reason: 'Fallback reason',
  theReason: 'fallback reason',
};

/** The attempts of a request. */
export const attempts = {
  none: 'No upstream was called.',
  columns: ['Upstream', 'Called because', 'Result', 'Started', 'First token', 'Took'],
  started: 'Started',
  firstToken: 'First token',
  took: 'Took',
  notCalled: 'not called',
  skipped: (reason: string) => `skipped: ${reason}`,
  more: (count: number) => `and ${formatCount(count)} more attempts that were not kept.`,
  circuit: (states: string) => `circuit ${states}`,
  circuitChange: (before: string, after: string) => `${before} → ${after}`,
  circuits: { closed: 'closed', open: 'open', probing: 'testing' },
  cut: (tokens: number) =>
    `read only ${formatCount(tokens)} tokens of a longer prompt: its context window is too small`,
  polled: (count: number) => `polled ${counted(count, TIMES)} as it started`,
  startedAt: (duration: string) => `+${duration}`,
  predicted: (duration: string) => `predicted ${duration}`,
  causes: {
    retry: 'retry',
    turn: 'next in line',
    hedge: 'hedge',
    hedgeOf: (name: string) => `hedge: ${name} was slow`,
    resume: 'continuation',
    resumeOf: (name: string) => `${name} dropped the stream`,
  },
  results: {
    dropped: 'dropped',
    waiting: 'waiting',
    answering: 'answering',
    diverged: 'different answer',
    cancelled: 'cancelled by the app',
    resumed: 'continued it',
    answered: 'answered',
  },
};

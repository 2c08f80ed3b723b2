import { counted } from '../format.ts';
import { TOKENS } from './nouns.ts';

export const requests = {
  none: {
    'first-choice': 'None was answered without a fallback.',
    'fell-back': 'None needed a fallback.',
    failed: 'None stayed without an answer.',
  },
  facets: {
    upstream: { label: 'Source', all: 'All sources' },
    machine: { label: 'Machine', all: 'All machines' },
    model: { label: 'Model', all: 'All models' },
    key: { label: 'Key', all: 'All keys' },
    reason: { label: 'Reason', all: 'All reasons' },
  },
  legend: {
    waiting: 'waiting',
    answering: 'answering',
    silent: 'silent',
    failed: 'failed',
    outrun: 'lost the race',
    broken: 'dropped',
    starting: 'rented GPU starting',
    hedge: 'second source asked',
    handover: 'continued',
  },
  tokens: (count: number, estimated: boolean) =>
    `${estimated ? '≈ ' : ''}${counted(count, TOKENS)}`,
};

export const story = {
  dropped: 'dropped the stream',
  called: {
    turn: 'is being called',
    hedge: 'is called as well',
    resume: 'is called to continue the answer',
  },
};

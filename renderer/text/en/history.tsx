import type { ReactNode } from 'react';
import type { HistoryRange } from '#shared/usage.ts';
import { counted, type Forms } from '../format.ts';

const ANSWERS: Forms = { one: 'answer', other: 'answers' };

export const history = {
  kwh: (kwh: number) => `${kwh < 1 ? kwh.toFixed(3) : kwh.toFixed(1)} kWh`,
  title: 'History',
  subject: 'The history',
  range: 'Range',
  ranges: { hour: 'Hour', day: 'Day', week: 'Week', month: 'Month' },
  nothing: (range: HistoryRange) => `No requests in the last ${range}`,
  nothingText: (chat: (text: string) => ReactNode) => (
    <>
      Requests, tokens, speed and cost appear here minute by minute once an app sends one. Try one
      in {chat('Chat')}.
    </>
  ),
  answers: 'Answers',
  stackedBy: 'Stacked by',
  stacks: { upstream: 'By upstream', model: 'By model' },
  otherModels: 'Other models',
  failed: 'Failed',
  percentiles: (p50: string, p95: string, count: number) =>
    `Time to first token of the last ${counted(count, ANSWERS)}: p50 ${p50}, p95 ${p95}.`,
  measures: {
    requests: 'Requests',
    fallbacks: 'Fallbacks',
    failures: 'Failed',
    input: 'Tokens in',
    reused: 'Tokens in, reused from a cache',
    output: 'Tokens out',
    first: 'Time to first token',
    speed: 'Tokens per second',
  },
  overTime: { upstreams: 'By upstream', machines: 'By machine' },
  seriesMeasures: {
    calls: 'Calls',
    tokens: 'Tokens',
    first: 'Time to first token',
    reused: 'Tokens in, reused from a cache',
    read: 'Tokens in, read',
  },
  wholeRange: { calls: 'total', tokens: 'total', first: 'average', reused: 'total', read: 'total' },
  otherMachines: 'All other machines',
  noValue: '–',
  series: (name: string, total: string, most: string, when: string) =>
    `${name}: ${total}; highest ${most} at ${when}`,
  seriesEmpty: (name: string) => `${name}: none`,
  now: 'now',
  peak: (value: string) => `peak ${value}`,
  sums: {
    requests: 'Requests today',
    tokens: 'Tokens today',
    reused: 'Tokens in reused this month',
    readingSaved: 'Reading time saved this month',
    spent: 'Spent today',
    spentThisMonth: 'Spent this month',
    savedThisMonth: 'Saved by Local this month',
    electricity: 'Electricity of answers this month',
  },
  reusedOf: (reused: string, input: string) => `${reused} of ${input}`,
  about: (span: string) => `about ${span}`,
  asTable: 'Show as a table',
  stepByStep: 'By time',
  from: 'From',
  byUpstream: 'By upstream and model',
  byKey: 'By key',
  keyColumns: {
    key: 'Key',
    requests: 'Requests',
    failed: 'Failed',
    input: 'Tokens in',
    reused: 'Reused',
    output: 'Tokens out',
    spent: 'Spent',
    saved: 'Saved',
  },
  columns: {
    upstream: 'Upstream',
    model: 'Model',
    calls: 'Calls',
    failed: 'Failed',
    input: 'Tokens in',
    reused: 'Reused',
    output: 'Tokens out',
    first: 'First token',
    speed: 'Tokens/s',
    spent: 'Spent',
    saved: 'Saved',
  },
};

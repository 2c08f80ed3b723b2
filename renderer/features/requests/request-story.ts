import type { AttemptRow, RequestRow } from '#shared/live.ts';
import { OUTRUN } from '#shared/reasons.ts';
import { predicateText } from '../../text/reason-text.ts';
import * as t from '../../text/t.ts';
import { type Labels, nameOf } from './attempt-names.ts';
import { gaveContent, hasDiverged, hedgedCall, skippedUpstreams } from './attempt-text.ts';

const words = t.story;

/** One sentence, such as `Hosted A was slow; Hosted B answered first`. */
export function storyOf(row: RequestRow, labels: Labels): string {
  const clauses = storyClauses(row, labels).map(({ text }) => text);
  return sentenceOf([...clauses, ...endOf(row, labels, clauses.length > 0)]);
}

/** The story in a short form, with the upstreams that did not answer at its end. */
export function briefStoryOf(row: RequestRow, labels: Labels): string {
  const clauses = storyClauses(row, labels);
  const textsOf = (isFallback: boolean) =>
    clauses.filter((clause) => clause.isFallback === isFallback).map(({ text }) => text);
  const left = sentenceOf(textsOf(true));
  const rest = sentenceOf([...textsOf(false), ...endOf(row, labels, clauses.length > 0)]);
  return left === '' ? rest : words.withPassed(rest, left);
}

const sentenceOf = (clauses: readonly string[]): string => words.together([...new Set(clauses)]);

/** The outcome, if the attempts do not show it. */
function endOf(row: RequestRow, labels: Labels, isBegun: boolean): readonly string[] {
  const { attempts, state, upstream } = row;
  const given = attempts.some((attempt) => gaveContent(attempt, row));
  switch (state) {
    case 'running':
      return isBegun ? [] : [words.noneCalled];
    case 'done':
      return given || upstream === null ? [] : [words.answered(labels.get(upstream) ?? upstream)];
    case 'failed':
      if (upstream !== null) return [words.errorPassedOn];
      return [attempts.length === 0 ? words.noneCallable : words.noneAnswered];
    case 'broken':
      return attempts.some(({ cause }) => cause === 'resume') ? [words.incomplete] : [];
    case 'cancelled':
      return [words.left];
  }
}

/** A part of the story; at equal times an answer comes after its causes. */
interface Clause {
  readonly atMs: number;
  readonly isAnswer: boolean;
  /** True if an upstream did not answer and the next one was called. */
  readonly isFallback: boolean;
  readonly text: string;
}

function storyClauses(row: RequestRow, labels: Labels): readonly Clause[] {
  const clauses = row.attempts
    .flatMap((attempt) => clausesOf(attempt, row, labels))
    .toSorted((a, b) => a.atMs - b.atMs || Number(a.isAnswer) - Number(b.isAnswer));
  return [...passedBy(row, labels), ...clauses];
}

function passedBy(row: RequestRow, labels: Labels): readonly Clause[] {
  return skippedUpstreams(row).map(({ upstream, reason }) => ({
    ...aside(0, words.clause(labels.get(upstream) ?? upstream, predicateText(reason))),
    isFallback: true,
  }));
}

function clausesOf(attempt: AttemptRow, row: RequestRow, labels: Labels): readonly Clause[] {
  const { cause, startMs, endMs, firstContentMs, reason } = attempt;
  const name = nameOf(attempt, row, labels);
  const slow = cause === 'hedge' ? hedgedCall(attempt, row) : null;
  const led = slow === null ? [] : [aside(startMs, slowText(slow, row, labels))];
  const atMs = endMs ?? Infinity;
  if (reason === OUTRUN && cause === 'hedge') {
    return [...led, aside(atMs, words.calledAsWell(name))];
  }
  if (reason !== null) {
    const isBroken = firstContentMs !== null && reason !== OUTRUN;
    const isFallback = cause === 'turn' && !isBroken && reason !== OUTRUN;
    const text = words.clause(name, isBroken ? words.dropped : predicateText(reason));
    return [...led, { ...aside(atMs, text), isFallback }];
  }
  if (firstContentMs === null) {
    const isSaid = endMs !== null || row.attempts.some((other) => isBeside(other, attempt, row));
    return isSaid ? led : [...led, aside(atMs, words.clause(name, words.called[cause]))];
  }
  return [
    ...led,
    { ...aside(firstContentMs, words.clause(name, answerText(attempt, row))), isAnswer: true },
  ];
}

const isBeside = (hedge: AttemptRow, slow: AttemptRow, row: RequestRow): boolean =>
  hedge.cause === 'hedge' && hedgedCall(hedge, row) === slow;

function slowText(slow: AttemptRow, row: RequestRow, labels: Labels): string {
  const isWaitedFor = slow.endMs === null && slow.firstContentMs === null;
  const name = nameOf(slow, row, labels);
  return isWaitedFor ? words.isSlow(name) : words.clause(name, predicateText(OUTRUN));
}

const aside = (atMs: number, text: string): Clause => ({
  atMs,
  isAnswer: false,
  isFallback: false,
  text,
});

function answerText(attempt: AttemptRow, row: RequestRow): string {
  const { cause, endMs } = attempt;
  if (hasDiverged(attempt, row)) return words.diverged;
  if (row.state === 'broken' && endMs !== null) return words.dropped;
  if (cause === 'resume') return endMs === null ? words.resuming : words.resumed;
  if (endMs === null) return words.answering;
  return row.attempts.some(({ reason }) => reason === OUTRUN)
    ? words.answeredFirst
    : words.answeredAlone;
}

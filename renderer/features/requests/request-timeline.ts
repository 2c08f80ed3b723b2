import type { RequestRow } from '#shared/live.ts';
import type { Labels } from './attempt-names.ts';
import { gaveContent } from './attempt-text.ts';
import { storyClauses } from './timeline-clauses.ts';
import { t } from '../../text/t.ts';

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

function sentenceOf(clauses: readonly string[]): string {
  return words.together([...new Set(clauses)]);
}

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

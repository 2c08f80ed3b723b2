import type { RequestRow } from '#shared/live.ts';
import type { Labels } from './attempt-names.ts';
import { gaveContent } from './attempt-text.ts';
import { toldOf } from './timeline-clauses.ts';

/** One sentence, such as `Hosted A was slow; Hosted B answered first`. */
export function storyOf(row: RequestRow, labels: Labels): string {
  const told = toldOf(row, labels).map(({ text }) => text);
  return sentenceOf([...told, ...endOf(row, labels, told.length > 0)]);
}

/** The same where room is short: who was left before stands at its end. */
export function briefStoryOf(row: RequestRow, labels: Labels): string {
  const told = toldOf(row, labels);
  const textsOf = (isFallback: boolean) =>
    told.filter((clause) => clause.isFallback === isFallback).map(({ text }) => text);
  const left = sentenceOf(textsOf(true));
  const rest = sentenceOf([...textsOf(false), ...endOf(row, labels, told.length > 0)]);
  return left === '' ? rest : `${rest} (${left})`;
}

function sentenceOf(clauses: readonly string[]): string {
  return [...new Set(clauses)].join('; ');
}

/** The outcome when the attempts do not tell it. */
function endOf(row: RequestRow, labels: Labels, isBegun: boolean): readonly string[] {
  const { attempts, state, upstream } = row;
  const given = attempts.some((attempt) => gaveContent(attempt, row));
  switch (state) {
    case 'running':
      return isBegun ? [] : ['no upstream called yet'];
    case 'done':
      return given || upstream === null ? [] : [`${labels.get(upstream) ?? upstream} answered`];
    case 'failed':
      if (upstream !== null) return ['the error was passed on'];
      return [attempts.length === 0 ? 'no upstream could be called' : 'no upstream answered'];
    case 'broken':
      return attempts.some(({ cause }) => cause === 'resume')
        ? ['the answer stayed incomplete']
        : [];
    case 'cancelled':
      return ['the app disconnected'];
  }
}

import { assertNever } from '#shared/assert.ts';
import type { UsageAnswer, UsageQuestion } from './messages.ts';
import { MAX_REQUESTS, type UsageQueries } from './queries.ts';
import { pageOf } from './request-pages.ts';

/** Null where the database cannot be read. */
export async function answerTo(
  question: UsageQuestion,
  queries: Pick<UsageQueries, 'history' | 'rows' | 'row'>,
): Promise<UsageAnswer | null> {
  try {
    return await read(question, queries);
  } catch {
    return null;
  }
}

async function read(
  question: UsageQuestion,
  queries: Pick<UsageQueries, 'history' | 'rows' | 'row'>,
): Promise<UsageAnswer> {
  switch (question.kind) {
    case 'history':
      return { kind: 'history', rows: queries.history(question.query) };
    case 'requests': {
      const texts = queries.rows(2 * MAX_REQUESTS);
      return { kind: 'requests', page: pageOf(await parsed(texts), question.wanted) };
    }
    case 'request': {
      const text = queries.row(question.id);
      const [row = null] = text === null ? [] : await parsed([text]);
      return { kind: 'request', row };
    }
    default:
      return assertNever(question, 'question');
  }
}

/** The schema is loaded only when history is read: it would slow down every start. */
async function parsed(texts: readonly string[]) {
  const { keptRows } = await import('./kept-rows.ts');
  return keptRows(texts);
}

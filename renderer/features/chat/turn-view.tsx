import { memo } from 'react';
import type { Labels } from '../requests/attempt-names.ts';
import { hashOf } from '../../route.ts';
import { routeText, turnFacts } from './turn-text.ts';
import type { Turn } from './conversation.ts';
import { t } from '../../text/t.ts';

interface TurnViewProps {
  readonly turn: Turn;
  readonly labels: Labels;
  /** What the answer is waiting for; null once it has begun. */
  readonly waiting: string | null;
}

/** A question, its answer and its route. */
export const TurnView = memo(function TurnView({ turn, labels, waiting }: TurnViewProps) {
  const { question, text, reasoning, end, route } = turn;
  const requestId = route?.requestId ?? null;
  const by = routeText(turn, labels);
  const facts = turnFacts(turn);
  return (
    <article className="turn">
      <p className="turn-question">{question}</p>
      {reasoning !== '' && (
        <details className="turn-reasoning">
          <summary>{t.chat.reasoning}</summary>
          <p>{reasoning}</p>
        </details>
      )}
      {text !== '' && <p className="turn-answer">{text}</p>}
      {waiting !== null && <p className="quiet">{waiting}</p>}
      {end?.kind === 'failed' && (
        <p className="error-text" role="alert">
          {end.message}
        </p>
      )}
      {end?.kind === 'stopped' && <p className="quiet">{t.chat.stopped}</p>}
      {end?.kind === 'done' && text === '' && <p className="quiet">{t.chat.emptyAnswer}</p>}
      {by !== null && (
        <p className="turn-facts">
          <strong>{by}</strong>
          {facts.map((fact) => (
            <span key={fact}>{fact}</span>
          ))}
          {requestId !== null && (
            <a href={hashOf({ page: 'requests', filter: 'all', request: requestId })}>
              {t.chat.request(requestId)}
            </a>
          )}
        </p>
      )}
    </article>
  );
});

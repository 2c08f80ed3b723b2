import { memo } from 'react';
import type { Labels } from '../requests/attempt-names.ts';
import { hashOf } from '../../route.ts';
import { routeText, turnFacts } from './turn-text.ts';
import type { Turn } from './conversation.ts';

interface TurnViewProps {
  readonly turn: Turn;
  readonly labels: Labels;
}

/** A question, its answer, and how that came about. */
export const TurnView = memo(function TurnView({ turn, labels }: TurnViewProps) {
  const { question, text, reasoning, end, route } = turn;
  const requestId = route?.requestId ?? null;
  const by = routeText(turn, labels);
  const facts = turnFacts(turn);
  return (
    <article className="turn">
      <p className="turn-question">{question}</p>
      {reasoning !== '' && (
        <details className="turn-reasoning">
          <summary>Reasoning</summary>
          <p>{reasoning}</p>
        </details>
      )}
      {text !== '' && <p className="turn-answer">{text}</p>}
      {end === null && text === '' && <p className="quiet">Waiting for the first token…</p>}
      {end?.kind === 'failed' && (
        <p className="error-text" role="alert">
          {end.message}
        </p>
      )}
      {end?.kind === 'stopped' && <p className="quiet">Stopped.</p>}
      {end?.kind === 'done' && text === '' && <p className="quiet">The answer is empty.</p>}
      {by !== null && (
        <p className="turn-facts">
          <strong>{by}</strong>
          {facts.map((fact) => (
            <span key={fact}>{fact}</span>
          ))}
          {requestId !== null && (
            <a href={hashOf({ page: 'requests', filter: 'all', request: requestId })}>
              Request {requestId}
            </a>
          )}
        </p>
      )}
    </article>
  );
});

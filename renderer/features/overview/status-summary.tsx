import type { ReactNode } from 'react';
import type { Headline as HeadlineModel } from './status-summary-text.ts';
import { t } from '../../text/t.ts';

interface HeadlineProps {
  readonly headline: HeadlineModel;
  readonly children: ReactNode;
}

const LINES = 2;

/** The summary at the top of the overview; read aloud when it changes. */
export function Headline({ headline, children }: HeadlineProps) {
  const { lead, subject, rest, tone, details, problems } = headline;
  // Two lines are reserved below the headline; the last one counts the problems that do not fit.
  const shown = problems.length <= LINES ? LINES : LINES - 1;
  const more = problems.length - shown;
  return (
    <section className="headline">
      <div aria-live="polite">
        <h1>
          {lead}
          <span data-tone={tone}>{subject}</span>
          {rest}
        </h1>
        {problems.length === 0 && details.map((line) => <p key={line}>{line}</p>)}
        {problems.slice(0, shown).map(({ what, todo }) => (
          <p key={what}>
            <strong>{what}</strong> {todo}
          </p>
        ))}
        {more > 0 && <p>{t.overview.headline.more(more)}</p>}
      </div>
      {children}
    </section>
  );
}

import { type ReactNode, useId } from 'react';
import type { StateText } from '../text/en/states.ts';
import * as t from '../text/t.ts';
import { Button } from './buttons.tsx';

export interface FactText {
  readonly label: string;
  readonly value: string;
}

interface FactProps extends Readonly<Record<keyof FactText, ReactNode>> {
  /** True if the entry takes a whole line. */
  readonly isWide?: boolean;
}

export function Fact({ label, value, isWide = false }: FactProps) {
  return (
    <div data-wide={isWide || undefined}>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}

/** A word longer than this, in characters, would break within a narrow column. */
const WIDE = 20;

export function Facts({ facts }: { readonly facts: readonly FactText[] }) {
  return (
    <dl className="facts">
      {facts.map((fact) => (
        <Fact key={fact.label} {...fact} isWide={fact.value.length > WIDE} />
      ))}
    </dl>
  );
}

/** A state in a word, with its meaning on hover and focus; Escape hides it. */
export function StateWord({ word, means }: StateText) {
  const id = useId();
  return (
    <span className="explained">
      <button
        type="button"
        className="pill"
        aria-describedby={id}
        onKeyDown={({ key, currentTarget }) => key === 'Escape' && currentTarget.blur()}
      >
        {word}
      </button>
      <span role="tooltip" className="explanation" id={id}>
        {means}
      </span>
    </span>
  );
}

interface UnreadableProps {
  readonly what: string;
  readonly message: string;
  readonly onRetry: () => void;
}

export function Unreadable({ what, message, onRetry }: UnreadableProps) {
  return (
    <section className="panel empty" role="alert">
      <h2>{`${what} could not be read`}</h2>
      <p>{message}</p>
      <Button onClick={onRetry}>{t.shell.tryAgain}</Button>
    </section>
  );
}

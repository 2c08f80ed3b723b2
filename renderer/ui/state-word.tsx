import { useId } from 'react';
import type { StateText } from '../text/en/states.ts';

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

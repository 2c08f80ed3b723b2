import { useState } from 'react';

interface Chosen<T> {
  readonly value: T;
  /** The value reported at the time of the click; a different report replaces the chosen one. */
  readonly replaces: T;
}

/** The value to show, why the gateway refused the last choice, and how to choose another. */
interface OptimisticValue<T> {
  readonly shown: T;
  readonly error: string | null;
  readonly choose: (value: T) => void;
}

/** Shows the chosen value until the gateway reports it; `send` resolves with the refusal, or null. */
export function useOptimisticValue<T>(
  reported: T,
  send: (value: T) => Promise<{ readonly message: string } | null>,
): OptimisticValue<T> {
  const [chosen, setChosen] = useState<Chosen<T> | null>(null);
  const [error, setError] = useState<string | null>(null);
  // Dropped for good, or it would return when the old value is reported again.
  if (chosen && chosen.replaces !== reported) setChosen(null);

  const choose = async (value: T): Promise<void> => {
    setChosen({ value, replaces: reported });
    setError(null);
    const refusal = await send(value);
    if (refusal === null) return;
    setError(refusal.message);
    setChosen(null);
  };

  return {
    shown: chosen && chosen.replaces === reported ? chosen.value : reported,
    error,
    choose: (value) => void choose(value),
  };
}

import { useState } from 'react';

type Refusal = { readonly message: string } | null;

/** Does what the gateway may refuse: `error` is its last refusal; `attempt` resolves with whether it was done. */
export function useAttempt() {
  const [error, setError] = useState<string | null>(null);
  const attempt = async (doing: Promise<Refusal>): Promise<boolean> => {
    const refusal = await doing;
    setError(refusal?.message ?? null);
    return refusal === null;
  };
  return { error, attempt };
}

/**
 * The value to show, why the gateway refused the last choice, and how to choose another. Shows the chosen value until the
 * gateway reports it; `send` resolves with the refusal, or null.
 */
export function useOptimisticValue<T>(reported: T, send: (value: T) => Promise<Refusal>) {
  /** `replaces`: the value reported at the time of the click; a different report replaces the chosen one. */
  const [chosen, setChosen] = useState<{ readonly value: T; readonly replaces: T } | null>(null);
  const [error, setError] = useState<string | null>(null);
  // It is dropped for good: it would return when the old value is reported again.
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
    choose: (value: T) => void choose(value),
  };
}

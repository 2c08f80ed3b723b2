import { useState } from 'react';

interface Wish<T> {
  readonly value: T;
  /** The value reported at the time of the click; a different report replaces the chosen one. */
  readonly over: T;
}

/** The value to show, why the gateway refused the last choice, and how to choose another. */
interface Wished<T> {
  readonly shown: T;
  readonly error: string | null;
  readonly choose: (value: T) => void;
}

/** Shows the chosen value until the gateway reports it; `send` resolves with the refusal, or null. */
export function useWish<T>(
  reported: T,
  send: (value: T) => Promise<{ readonly message: string } | null>,
): Wished<T> {
  const [wish, setWish] = useState<Wish<T> | null>(null);
  const [error, setError] = useState<string | null>(null);
  // Dropped for good, or it would return when the old value is reported again.
  if (wish && wish.over !== reported) setWish(null);

  const choose = async (value: T): Promise<void> => {
    setWish({ value, over: reported });
    setError(null);
    const refusal = await send(value);
    if (refusal === null) return;
    setError(refusal.message);
    setWish(null);
  };

  return {
    shown: wish && wish.over === reported ? wish.value : reported,
    error,
    choose: (value) => void choose(value),
  };
}

import { useState } from 'react';

interface Wish<T> {
  readonly value: T;
  /** The value reported at the time of the click; a different report ends the wish. */
  readonly over: T;
}

/** A value to be shown, what the gateway had against the last wish, and how to wish for another. */
interface Wished<T> {
  readonly shown: T;
  readonly error: string | null;
  readonly choose: (value: T) => void;
}

/** Shows what was asked for until the gateway reports it; `send` answers why not, or null. */
export function useWish<T>(
  reported: T,
  send: (value: T) => Promise<{ readonly message: string } | null>,
): Wished<T> {
  const [wish, setWish] = useState<Wish<T> | null>(null);
  const [error, setError] = useState<string | null>(null);
  // Over for good, or it would come back with the report it was made over.
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

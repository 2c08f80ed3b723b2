import type { Clock } from '../../platform/clock.ts';

interface Bounds {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** What a promise resolves to; null when the time is over or the signal aborts first. */
export function within<T>(promise: Promise<T>, bounds: Bounds): Promise<T | null> {
  const { clock, signal, timeoutMs } = bounds;
  if (signal.aborted) return Promise.resolve(null);
  return new Promise((resolve, reject) => {
    const settle = (value: T | null) => {
      cancel();
      signal.removeEventListener('abort', onAbort);
      resolve(value);
    };
    const onAbort = () => settle(null);
    const cancel = clock.after(timeoutMs, onAbort);
    signal.addEventListener('abort', onAbort);
    promise.then(settle, (error: unknown) => {
      onAbort();
      reject(error instanceof Error ? error : new Error('unknown'));
    });
  });
}

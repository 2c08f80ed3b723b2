import type { RequestKey } from './answers.ts';
import type { Protocol } from '../support/readers/readers.ts';
import { drawsFor } from '../support/draws.ts';

const PROTOCOLS: readonly Protocol[] = ['chat', 'messages', 'responses'];

/** What one caller asks for, and when it leaves. */
export interface ChaosRequest extends RequestKey {
  readonly protocol: Protocol;
  /** The place of the gateway that it is sent to. */
  readonly gateway: number;
  readonly isStream: boolean;
  /** At temperature 0 an answer may be asked for again. */
  readonly isRepeatable: boolean;
  /** When the caller leaves; null for one that stays. */
  readonly leaves: { readonly after: number; readonly unit: 'ms' | 'bytes' } | null;
}

export function requestOf({ seed, n }: RequestKey, gateways: number): ChaosRequest {
  const draws = drawsFor(seed, n, 'request');
  const [isLeaving, isByTime] = [draws.happens(0.15), draws.happens(0.5)];
  const after = draws.below(isByTime ? draws.pick([1, 50, 1000]) : 4000);
  return {
    seed,
    n,
    protocol: draws.pick(PROTOCOLS),
    gateway: draws.below(gateways),
    isStream: draws.happens(0.7),
    isRepeatable: draws.happens(0.5),
    leaves: isLeaving ? { after, unit: isByTime ? 'ms' : 'bytes' } : null,
  };
}

/** The model that every upstream has. */
export const MODEL = 'same';

export function bodyOf({ seed, n, protocol, isStream, isRepeatable }: ChaosRequest): object {
  const common = { model: MODEL, stream: isStream, temperature: isRepeatable ? 0 : 1 };
  const question = `chaos ${seed}/${n}`;
  const messages = [{ role: 'user', content: question }];
  switch (protocol) {
    case 'chat':
      return { ...common, messages, ...(isStream && { stream_options: { include_usage: true } }) };
    case 'messages':
      return { ...common, max_tokens: 4000, messages };
    case 'responses':
      // What is stored is kept in memory for a while.
      return { ...common, input: question, store: false };
  }
}

/** Whose request a body is, in any protocol; null for nobody's. */
export function keyIn(body: string): RequestKey | null {
  const [, seed, n] = /"chaos (\d+)\/(\d+)"/.exec(body) ?? [];
  return seed === undefined ? null : { seed: Number(seed), n: Number(n) };
}

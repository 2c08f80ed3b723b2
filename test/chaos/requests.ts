import { type RequestKey, TOOLS } from './answers.ts';
import { drawsFor } from './draws.ts';

const PROTOCOLS = ['chat', 'messages', 'responses'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** What one caller asks for, and when it leaves. */
export interface ChaosRequest extends RequestKey {
  readonly protocol: Protocol;
  /** The gateway that it is sent to, by its place. */
  readonly gateway: number;
  readonly isStream: boolean;
  /** For the event with the usage, which only chat completions know. */
  readonly asksForUsage: boolean;
  /** At temperature 0: the answer may be asked for again. */
  readonly isRepeatable: boolean;
  readonly leaves: Leaving;
}

/** `ms`: so long after it asked; `bytes`: once so many have come. */
export type Leaving =
  { readonly kind: 'never' } | { readonly kind: 'ms' | 'bytes'; readonly after: number };

export const PATHS: Readonly<Record<Protocol, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};

const LEAVING_SHARE = 0.15;

/** @param gateways how many there are */
export function requestOf({ seed, n }: RequestKey, gateways: number): ChaosRequest {
  const draws = drawsFor(seed, n, 'request');
  const protocol = draws.pick(PROTOCOLS);
  const isStream = draws.happens(0.7);
  const isLeaving = draws.happens(LEAVING_SHARE);
  const ms = { kind: 'ms', after: draws.below(draws.pick([1, 50, 1000])) } as const;
  const bytes = { kind: 'bytes', after: draws.below(4000) } as const;
  return {
    seed,
    n,
    protocol,
    gateway: draws.below(gateways),
    isStream,
    asksForUsage: protocol === 'chat' && isStream && draws.happens(0.5),
    isRepeatable: draws.happens(0.5),
    leaves: isLeaving ? draws.pick([ms, bytes]) : { kind: 'never' },
  };
}

/** The model that every upstream has. */
export const MODEL = 'same';

export function bodyOf(request: ChaosRequest): object {
  const { seed, n, protocol, isStream, isRepeatable, asksForUsage } = request;
  const question = `chaos ${seed}/${n}`;
  const messages = [{ role: 'user', content: question }];
  const common = { model: MODEL, stream: isStream, temperature: isRepeatable ? 0 : 1 };
  const parameters = { type: 'object', properties: {} };
  const functions = TOOLS.map((name) => ({ name, parameters }));
  switch (protocol) {
    case 'chat':
      return {
        ...common,
        messages: [{ role: 'system', content: 'Answer.' }, ...messages],
        tools: functions.map((each) => ({ type: 'function', function: each })),
        ...(asksForUsage && { stream_options: { include_usage: true } }),
      };
    case 'messages':
      return {
        ...common,
        max_tokens: 100_000,
        system: 'Answer.',
        messages,
        tools: TOOLS.map((name) => ({ name, input_schema: parameters })),
      };
    case 'responses':
      return {
        ...common,
        instructions: 'Answer.',
        input: question,
        // What is stored is kept in memory for a while.
        store: false,
        tools: functions.map((each) => ({ type: 'function', ...each })),
      };
  }
}

/** Whose request a body is, in whichever protocol; null if nobody's. */
export function keyIn(body: string): RequestKey | null {
  const [, seed, n] = /"chaos (\d+)\/(\d+)"/.exec(body) ?? [];
  return seed === undefined ? null : { seed: Number(seed), n: Number(n) };
}

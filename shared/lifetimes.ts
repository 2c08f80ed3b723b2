/** How long what may be used once stays valid, in milliseconds and in words for people. */
interface Lifetime {
  readonly ms: number;
  readonly words: string;
}

export const SIGN_IN_LINK: Lifetime = { ms: 600_000, words: '10 minutes' };

export const JOIN_COMMAND: Lifetime = { ms: 3_600_000, words: 'an hour' };

/** The limits that a key can have; input and output tokens count together. */
export const KEY_LIMITS = {
  requestsDay: { of: 'requests', period: 'day' },
  requestsMonth: { of: 'requests', period: 'month' },
  tokensDay: { of: 'tokens', period: 'day' },
  tokensMonth: { of: 'tokens', period: 'month' },
} as const;

export type KeyLimitName = keyof typeof KEY_LIMITS;

export const KEY_LIMIT_NAMES = Object.keys(KEY_LIMITS) as readonly KeyLimitName[];

/** The highest; the lowest is 1. */
export const MAX_KEY_LIMIT = 1_000_000_000_000;

/** A limit of a key, and how much of it is used. */
export interface KeyLimitUse {
  readonly name: KeyLimitName;
  readonly limit: number;
  readonly used: number;
  /** ISO 8601. */
  readonly resetsAt: string;
}

/** A key for apps that was created with a name; the key itself is shown once. */
export interface NamedKey {
  readonly name: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** Null if it has not been used yet. */
  readonly lastUsedAt: string | null;
  /** The limits that are set. */
  readonly limits: readonly KeyLimitUse[];
}

/** `GET /api/v1/keys`. */
export interface KeyList {
  readonly keys: readonly NamedKey[];
  /** Number of keys in the setting API_KEYS, which have no names. */
  readonly unnamed: number;
}

/** The answer to `POST /api/v1/keys`. */
export interface AddedKey {
  readonly name: string;
  readonly key: string;
}

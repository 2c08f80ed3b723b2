import {
  PROVIDER_STATUSES,
  VERIFICATION_STATES,
  type ProviderStatus,
  type VerificationState,
} from '#shared/provider.ts';
import { invalidRequest, type Refusal } from './answers.ts';

/** What a reader of the list wants; null: whatever it is. */
export interface ListQuery {
  readonly kind: 'query';
  readonly status: ProviderStatus | null;
  readonly verification: VerificationState | null;
  readonly limit: number;
  readonly offset: number;
}

/** Parameters as they stand in the address: a text, or several where one came more than once. */
export type RawQuery = Readonly<Record<string, unknown>>;

const MAX_LIMIT = 10_000;
const MAX_OFFSET = 1_000_000_000;

/** Reads the parameters of the list; the first one that is bad is named. */
export function readListQuery(raw: RawQuery): ListQuery | Refusal {
  const status = oneOf(PROVIDER_STATUSES, 'status', raw);
  if (isRefusal(status)) return status;
  const verification = oneOf(VERIFICATION_STATES, 'verification', raw);
  if (isRefusal(verification)) return verification;
  const limit = integer('limit', raw, { min: 1, max: MAX_LIMIT });
  if (isRefusal(limit)) return limit;
  const offset = integer('offset', raw, { min: 0, max: MAX_OFFSET });
  if (isRefusal(offset)) return offset;
  return { kind: 'query', status, verification, limit: limit ?? Infinity, offset: offset ?? 0 };
}

/** Reads the one parameter of a history. */
export function readHistoryLimit(raw: RawQuery): number | Refusal {
  return integer('limit', raw, { min: 1, max: 1000 }) ?? 100;
}

function isRefusal(value: unknown): value is Refusal {
  return typeof value === 'object' && value !== null;
}

function oneOf<T extends string>(
  allowed: readonly T[],
  name: string,
  raw: RawQuery,
): T | null | Refusal {
  const value = raw[name];
  if (value === undefined) return null;
  const known = allowed.find((each) => each === value);
  return known ?? invalidRequest(`${name} must be one of ${allowed.join(', ')}, once.`, name);
}

function integer(
  name: string,
  raw: RawQuery,
  { min, max }: { readonly min: number; readonly max: number },
): number | null | Refusal {
  const value = raw[name];
  if (value === undefined) return null;
  const number = typeof value === 'string' && /^\d{1,10}$/.test(value) ? Number(value) : NaN;
  if (number >= min && number <= max) return number;
  return invalidRequest(`${name} must be a whole number from ${min} to ${max}, once.`, name);
}

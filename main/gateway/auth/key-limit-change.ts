import { z } from 'zod';
import { KEY_LIMIT_NAMES, MAX_KEY_LIMIT } from '#shared/keys.ts';
import { type KeyLimitValues, keyLimits } from '../../config/key-file.ts';
import type { GatewayError } from '../http/errors.ts';

/** The limits after a change that came with a request: null lifts one, and one that it does not name stays. */
export function changedLimits(
  before: KeyLimitValues,
  change: unknown,
): { readonly kind: 'limits'; readonly limits: KeyLimitValues } | RefusedLimits {
  const read = z.record(z.string(), z.unknown()).safeParse(change ?? {});
  if (!read.success) return BAD_LIMITS;
  const after = Object.entries({ ...before, ...read.data }).filter(([, value]) => value !== null);
  const checked = keyLimits.safeParse(Object.fromEntries(after));
  return checked.success ? { kind: 'limits', limits: checked.data } : BAD_LIMITS;
}

interface RefusedLimits {
  readonly kind: 'refused';
  readonly error: GatewayError;
}

const BAD_LIMITS: RefusedLimits = {
  kind: 'refused',
  error: {
    status: 400,
    code: 'invalid_request',
    message: `'limits' may have ${KEY_LIMIT_NAMES.join(', ')}, each a whole number from 1 to ${MAX_KEY_LIMIT}, or null for no limit.`,
    param: 'limits',
  },
};

import { z } from 'zod';
import { invalidRequest, type Refusal, type RouteRequest } from './routes.ts';

/* Query parameters. What a schema does not name may have any value. */

/** Parameters as parsed from the URL: a string, or several if one was repeated. */
export type Query = RouteRequest['query'];

export const oneOf = <T extends string>(words: readonly [T, ...T[]]) =>
  z.enum(words, `one of ${words.join(', ')}`);

/** `rule` as in "must be a whole number". */
export function wholeNumber(
  min: number,
  max: number,
  rule = `a whole number from ${min} to ${max}`,
) {
  return z
    .string(rule)
    .regex(/^\d{1,15}$/, rule)
    .transform(Number)
    .refine((number) => number >= min && number <= max, rule);
}

/** The parameters as `schema` has them; a refusal names the first that cannot be used. */
export function readQuery<T>(
  query: Query,
  schema: z.ZodType<T>,
): { readonly kind: 'read'; readonly value: T } | Refusal {
  const read = schema.safeParse(query);
  if (read.success) return { kind: 'read', value: read.data };
  const [issue] = read.error.issues;
  const name = String(issue?.path[0]);
  return invalidRequest(`'${name}' must be ${issue?.message ?? 'valid'}, given once.`, name);
}

import type { UpstreamError } from './upstream-error.ts';

/** What an event, or a whole answer, brings. */
export type Substance =
  | { readonly kind: 'content' }
  /** Well-formed without content: a role, a finish reason, usage. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'error'; readonly error: UpstreamError };

export const CONTENT: Substance = { kind: 'content' };
export const NOTHING: Substance = { kind: 'nothing' };

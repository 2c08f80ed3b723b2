import { KEY_LIMIT_NAMES, type KeyLimitName, type KeyLimitUse } from '#shared/keys.ts';
import { WARNED_SHARE } from '#shared/usage.ts';

/** How much of a key's limit is used. */
export type LimitStanding = 'free' | 'near' | 'reached';

export function standingOf({ used, limit }: KeyLimitUse): LimitStanding {
  if (used >= limit) return 'reached';
  return used >= WARNED_SHARE * limit ? 'near' : 'free';
}

/** The contents of the form's fields: digits, or nothing. */
export type LimitDraft = Readonly<Record<KeyLimitName, string>>;

export function draftOf(limits: readonly KeyLimitUse[]): LimitDraft {
  const text = (name: KeyLimitName) =>
    String(limits.find((each) => each.name === name)?.limit ?? '');
  return {
    requestsDay: text('requestsDay'),
    requestsMonth: text('requestsMonth'),
    tokensDay: text('tokensDay'),
    tokensMonth: text('tokensMonth'),
  };
}

/** The form in which the gateway accepts limits: all of them, null for none. */
export function changeOf(draft: LimitDraft): Readonly<Record<string, number | null>> {
  return Object.fromEntries(
    KEY_LIMIT_NAMES.map((name) => [name, draft[name] === '' ? null : Number(draft[name])]),
  );
}

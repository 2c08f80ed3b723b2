/** In place of encrypted reasoning; see `reasoningFields`. */
export const NOT_ENCRYPTED = 'unencrypted';

/** Ids of items in translated answers. Whoever knows one may refer to the item, so they must not be guessable. */
export const itemId = (kind: 'rs' | 'msg' | 'fc', exchangeId: string, place: number): string =>
  `${kind}_${exchangeId}_${place}`;

/** Hosts write no hyphens in theirs. */
export function isOwnItemId(id: unknown): boolean {
  return (
    typeof id === 'string' && /^(rs|msg|fc)_[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}_\d+$/.test(id)
  );
}

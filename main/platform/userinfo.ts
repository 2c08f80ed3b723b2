/** User name and password of an address. */
type Userinfo =
  | { readonly kind: 'none' }
  /** `authorization`: as `Basic` credentials. */
  | { readonly kind: 'credentials'; readonly authorization: string }
  /** A `%` in one of them encodes nothing, which `URL` accepts. */
  | { readonly kind: 'undecodable' };

export function userinfoOf({ username, password }: URL): Userinfo {
  if (username === '' && password === '') return { kind: 'none' };
  const [user, secret] = [decoded(username), decoded(password)];
  if (user === null || secret === null) return { kind: 'undecodable' };
  const pair = Buffer.from(`${user}:${secret}`).toString('base64');
  return { kind: 'credentials', authorization: `Basic ${pair}` };
}

/** A part of an address without its percent encoding; null if a `%` in it encodes nothing. */
export function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}

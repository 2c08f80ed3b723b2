/** Shows a secret's first 3 and last 4 characters; under 20 characters, nothing of it. */
export function maskSecret(secret: string): string {
  return secret.length < 20 ? '…' : `${secret.slice(0, 3)}…${secret.slice(-4)}`;
}

/** A base address without what may be secret in it: userinfo and query. */
export function maskUrl(address: string): string {
  const url = new URL(address);
  const userinfo = url.username === '' && url.password === '' ? '' : '…@';
  const query = url.search === '' ? '' : '?…';
  return `${url.protocol}//${userinfo}${url.host}${url.pathname.replace(/\/+$/, '')}${query}`;
}

/**
 * A refused value, as shown to its owner: if it was meant as an address, everything before its last `@` may be a
 * password, and everything after a `?` a key.
 */
export function maskMistyped(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)?.*@/is, '$1…@').replace(/\?.*$/s, '?…');
}

/** Header names with their values hidden. */
export function maskHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.keys(headers).map((name) => [name, '…']));
}

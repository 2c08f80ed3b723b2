import type { ResponseHeaders } from '../../platform/http/types.ts';

/** Shorter texts are no keys, and replacing them would garble answers. */
const MIN_LENGTH = 6;
const HIDDEN = '[secret]';

/** What must not come back from an upstream: every credential that is sent to it, in each spelling. */
export function ownSecrets(
  { basicAuth, query }: { readonly basicAuth: string | null; readonly query: string },
  values: readonly (string | null)[],
): readonly string[] {
  const all = [
    ...values.flatMap((value) => (value === null ? [] : [value, ...value.split(' ')])),
    ...(query === '' ? [] : new URLSearchParams(query).values()),
    ...(basicAuth === null ? [] : basicParts(basicAuth.slice('Basic '.length))),
  ];
  const spelled = all
    .filter(({ length }) => length >= MIN_LENGTH)
    .flatMap((text) => [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text)]);
  // A longer one may hold a shorter one.
  return [...new Set(spelled)].toSorted((a, b) => b.length - a.length);
}

function basicParts(encoded: string): readonly string[] {
  const userinfo = Buffer.from(encoded, 'base64').toString();
  return [encoded, userinfo, userinfo.slice(userinfo.indexOf(':') + 1)];
}

/** The same bytes where they hold none of `secrets`. */
export function bodyWithout(secrets: readonly string[], body: Buffer): Buffer {
  if (!secrets.some((secret) => body.includes(secret))) return body;
  return Buffer.from(
    secrets.reduce((text, secret) => text.replaceAll(secret, HIDDEN), body.toString('utf8')),
  );
}

/** Drops headers whose value holds one of `secrets`. */
export function headersWithout(
  secrets: readonly string[],
  headers: ResponseHeaders,
): ResponseHeaders {
  const isClean = (name: string) =>
    !secrets.some((secret) => String(headers[name]).includes(secret));
  const names = Object.keys(headers);
  if (names.every(isClean)) return headers;
  return Object.fromEntries(names.filter(isClean).map((name) => [name, headers[name]]));
}

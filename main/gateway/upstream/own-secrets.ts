import type { ResponseHeaders } from '../../platform/http/types.ts';
import type { UpstreamError } from '../protocols/upstream-error.ts';

/** Shorter texts are no keys, and replacing them would garble what an error says. */
const MIN_LENGTH = 6;

/** Every credential that is sent to an upstream, in each spelling; errors must not repeat them. */
export type OwnSecrets = readonly string[];

export function ownSecrets(
  { basicAuth, query }: { readonly basicAuth: string | null; readonly query: string },
  values: readonly (string | null)[],
): OwnSecrets {
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

/** Drops headers whose value holds one of the secrets. */
export function headersWithout(secrets: OwnSecrets, headers: ResponseHeaders): ResponseHeaders {
  const isClean = (value: unknown) => !secrets.some((secret) => String(value).includes(secret));
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => isClean(value)));
}

export function errorWithout(secrets: OwnSecrets, error: UpstreamError): UpstreamError {
  return { ...error, message: masked(error.message, secrets) };
}

/** The same bytes if they hold none of the secrets. */
export function bodyWithout(secrets: OwnSecrets, body: Buffer): Buffer {
  const text = plainlySpelled(body.toString());
  const isClean = !secrets.some((secret) => text.includes(secret));
  return isClean ? body : Buffer.from(masked(text, secrets));
}

/** JSON without the escapes that it needs nowhere: PHP writes `\/` for a slash, Go and .NET `\u002b` for a plus. */
function plainlySpelled(json: string): string {
  return json.replace(/\\(?:\\|\/|u00([2-7][0-9a-f]))/gi, (escape, code: string | undefined) => {
    if (escape === '\\/') return '/';
    const letter = code === undefined ? escape : String.fromCharCode(Number.parseInt(code, 16));
    return letter === '"' || letter === '\\' ? escape : letter;
  });
}

function masked(text: string, secrets: OwnSecrets): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text);
}

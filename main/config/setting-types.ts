import { z } from 'zod';
import { completeAddress } from '#shared/base-url.ts';
import type { SettingChoice, SettingKind } from '#shared/settings-view.ts';
import { decoded, registryOrigin } from '../platform/addresses.ts';
import { parseJson } from '../platform/json.ts';

export interface Setting<T> {
  readonly kind: Kind<NonNullable<T>>;
  readonly fallback: T;
  /** One plain sentence for the window and docs/reference/configuration.md. */
  readonly meaning: string;
  /** Never shown or logged, and kept in secrets.json instead of settings.json. */
  readonly secret: boolean;
  /** Read once at the start, so a change takes effect after a restart. */
  readonly restart: boolean;
}

type Treatment = Partial<Pick<Setting<unknown>, 'secret' | 'restart'>>;

export function setting<T extends {}>(
  kind: Kind<T>,
  fallback: NoInfer<T>,
  meaning: string,
  treatment: Treatment = {},
): Setting<T> {
  return { kind, fallback, meaning, secret: isSecret(kind), restart: false, ...treatment };
}

/** A setting whose default is null: not set. */
export function optional<T extends {}>(
  kind: Kind<T>,
  meaning: string,
  treatment: Treatment = {},
): Setting<T | null> {
  return { kind, fallback: null, meaning, secret: isSecret(kind), restart: false, ...treatment };
}

const isSecret = <T>({ shown }: Kind<T>): boolean => shown !== undefined;

/** The environment gives text, the settings file JSON. */
export interface Kind<T> {
  readonly name: SettingKind;
  readonly schema: z.ZodType<T>;
  /** Converts text to a JSON value for `schema` to check; returns text that cannot be converted as it is. */
  readonly fromText: (text: string) => unknown;
  /** For error messages: "a whole number from 1 to 5". */
  readonly allowed: string;
  /** Masks rejected text; only of secrets. */
  readonly shown?: (text: string) => string;
  readonly choices?: readonly SettingChoice[];
}

const asNumber = (text: string): unknown => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text);
const asIs = (text: string): unknown => text;

/** Items of a list, separated by commas or, as in a file, by lines; trimmed, without empty ones. */
const asList = (text: string): string[] =>
  text
    .split(/[,\n]/)
    .map((item) => item.trim())
    .filter((item) => item !== '');

function wholeNumber(name: SettingKind, min: number, max: number, unit = ''): Kind<number> {
  return {
    name,
    schema: z.int().min(min).max(max),
    fromText: asNumber,
    allowed: `a whole number from ${min} to ${max}${unit}`,
  };
}

export const count = wholeNumber('count', 1, 1_000_000);
export const milliseconds = wholeNumber('milliseconds', 1, 86_400_000, ' (milliseconds)');
export const pause = wholeNumber('milliseconds', 0, 86_400_000, ' (milliseconds; 0: never)');
export const port = wholeNumber('port', 0, 65_535, ' (0: any free port)');
export const celsius = wholeNumber('celsius', 30, 120, ' (°C)');
export const byteCount = wholeNumber('bytes', 1, 1_073_741_824, ' (bytes)');
export const memoryBytes = wholeNumber('bytes', 1, 1_099_511_627_776, ' (bytes)');

export const amount: Kind<number> = {
  name: 'amount',
  schema: z.number().min(0).max(1_000_000),
  fromText: asNumber,
  allowed: 'a number from 0 to 1000000, such as 2.5',
};

/** A span that the owner types; a week is long enough. */
export const minutes: Kind<number> = {
  name: 'amount',
  schema: z.number().positive().max(10_080),
  fromText: asNumber,
  allowed: 'a number of minutes above 0, up to 10080 (a week)',
};

export const ports: Kind<readonly number[]> = {
  name: 'ports',
  schema: z.array(port.schema).min(1).max(8),
  fromText: (text) => asList(text).map(asNumber),
  allowed: 'ports from 0 to 65535, separated by commas',
};

export const flag: Kind<boolean> = {
  name: 'flag',
  schema: z.boolean(),
  fromText: (text) =>
    ({ true: true, '1': true, false: false, '0': false })[text.toLowerCase()] ?? text,
  allowed: 'true or false',
};

export const text: Kind<string> = {
  name: 'text',
  schema: z
    .string()
    .min(1)
    .max(1000)
    .regex(/^[^\p{Cc}]*$/u),
  fromText: asIs,
  allowed: 'text of 1 to 1000 characters without control characters',
};

/** A secret that travels in a header: visible ASCII only, or node:http would refuse it later. */
export const secret: Kind<string> = {
  name: 'secret',
  schema: z
    .string()
    .max(4096)
    .regex(/^[\x21-\x7e]+$/),
  fromText: asIs,
  allowed: 'visible ASCII characters without spaces',
  shown: maskSecret,
};

/** As the file `gateway-secret` has it. */
export const poolSecret: Kind<string> = {
  name: 'secret',
  schema: z.string().regex(/^[\da-f]{64}$/),
  fromText: (given) => given.toLowerCase(),
  allowed: '64 hexadecimal digits (openssl rand -hex 32 makes them)',
  shown: maskSecret,
};

export const secrets: Kind<readonly string[]> = {
  name: 'secrets',
  schema: z.array(secret.schema.refine((key) => key.length >= 16)).max(1000),
  fromText: asList,
  allowed:
    'keys of at least 16 visible ASCII characters, separated by commas (openssl rand -hex 24 makes one)',
  shown: (typed) => asList(typed).map(maskSecret).join(','),
};

export const httpUrl: Kind<string> = {
  name: 'address',
  schema: z.string().refine(isHttpUrl),
  fromText: completeAddress,
  allowed: 'an http:// or https:// address, such as http://127.0.0.1:11434',
};

/** Of an engine of this machine, to which the agent adds paths. */
export const engineUrl: Kind<string> = {
  ...httpUrl,
  schema: httpUrl.schema.refine((value) => !value.includes('?')),
  allowed: 'an http:// or https:// address without a query, such as http://127.0.0.1:8080',
};

function isHttpUrl(value: string): boolean {
  // The window shows addresses masked with "…"; such a text must not be saved.
  if (!/^https?:\/\//i.test(value) || value.includes('…') || !URL.canParse(value)) return false;
  const { hash, username, password } = new URL(value);
  return hash === '' && decoded(username) !== null && decoded(password) !== null;
}

function list(of: z.ZodType<string>, max: number, allowed: string): Kind<readonly string[]> {
  return { name: 'list', schema: z.array(of).max(max), fromText: asList, allowed };
}

/** The address of a gateway as agents report to it. */
export const gateway: Kind<string> = {
  ...httpUrl,
  schema: z.string().refine((value) => registryOrigin(value) !== null),
  allowed: 'an http:// or https:// address without a path, such as http://192.168.1.10:47900',
};

export const gateways: Kind<readonly string[]> = {
  ...list(
    gateway.schema,
    16,
    'addresses such as http://192.168.1.10:47900, without a path, separated by commas',
  ),
  fromText: (typed) => asList(typed).map(completeAddress),
};

export const databaseUrl: Kind<string> = {
  name: 'address',
  schema: z.string().max(4096).refine(isPostgresUrl),
  fromText: asIs,
  allowed: 'a postgres:// address with a database, such as postgres://inglenook@db.lan/inglenook',
};

function isPostgresUrl(value: string): boolean {
  // The window shows addresses masked with "…"; such a text must not be saved.
  if (!/^postgres(ql)?:\/\//.test(value) || value.includes('…') || !URL.canParse(value))
    return false;
  const { hash, hostname, pathname, username, password } = new URL(value);
  if (hash !== '' || hostname === '' || !/^\/[^/]+$/.test(pathname)) return false;
  // The driver decodes each.
  return [username, password, hostname, pathname].every((part) => decoded(part) !== null);
}

export const names = list(
  z.string().regex(/^[\w.:[\]-]+$/),
  100,
  'host names, separated by commas',
);

/** Longer than any model ID, and too short to be anything else. */
const MODEL = '[^\\s,=]{1,200}';

export const models = list(
  z.string().regex(new RegExp(`^${MODEL}$`)),
  200,
  'model IDs, separated by commas',
);

export const aliases: Kind<readonly string[]> = {
  name: 'list',
  schema: z
    .array(
      z
        .string()
        .regex(new RegExp(`^${MODEL}=${MODEL}$`))
        .regex(/^[^=]+=[^*]+$/),
    )
    .max(200)
    .refine((pairs) => new Set(pairs.map((pair) => pair.split('=')[0])).size === pairs.length),
  fromText: asList,
  allowed:
    'name=model, each name once, separated by commas, such as fast=llama-3.1-8b,gpt-*=qwen3-30b; * in a name matches any text',
};

export const origins = list(
  z.string().refine(isOrigin),
  100,
  'page origins such as https://chat.example.com, http://localhost:* or app://obsidian.md, separated by commas',
);

/**
 * `null` is what sandboxed and file: pages send; allowing it is the owner's explicit choice. `*` stands for a port,
 * or for all pages of an app's own scheme, but never for all web pages.
 */
function isOrigin(value: string): boolean {
  const isWeb = /^https?:/i.test(value);
  return (
    value === 'null' ||
    /^[a-z][a-z0-9+.-]*:\/\/[^/?#\s*]+(:\*)?$/i.test(value) ||
    (!isWeb && /^[a-z][a-z0-9+.-]*:\/\/\*?$/i.test(value))
  );
}

const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Headers that frame the message: overriding one would break the connection or the body. */
const FRAMING =
  /^(host|connection|content-length|transfer-encoding|upgrade|te|trailer|expect|keep-alive)$/i;

export const headerMap: Kind<Readonly<Record<string, string>>> = {
  name: 'headers',
  schema: z.record(
    z
      .string()
      .regex(HEADER_NAME)
      .refine((name) => !FRAMING.test(name)),
    z.string().regex(HEADER_VALUE),
  ),
  fromText: (json) => parseJson(json) ?? json,
  allowed:
    'a JSON object of header names and values, such as {"X-Team":"blue"}, except framing headers',
  shown: () => '…',
};

/** Each word comes with the sentence that explains it. */
export function oneOf<const T extends string>(meanings: Readonly<Record<T, string>>): Kind<T> {
  const choices = Object.entries<string>(meanings).map(([value, meaning]) => ({ value, meaning }));
  const words = choices.map(({ value }) => value as T);
  return {
    name: 'choice',
    schema: z.enum(words),
    fromText: asIs,
    allowed: `one of ${words.join(', ')}`,
    choices,
  };
}

/** Shows a secret's first 3 and last 4 characters; under 20 characters, nothing of it. */
export function maskSecret(hidden: string): string {
  return hidden.length < 20 ? '…' : `${hidden.slice(0, 3)}…${hidden.slice(-4)}`;
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
export function maskMistyped(typed: string): string {
  return typed.replace(/^([a-z][a-z0-9+.-]*:\/\/)?.*@/is, '$1…@').replace(/\?.*$/s, '?…');
}

export function maskHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.keys(headers).map((name) => [name, '…']));
}

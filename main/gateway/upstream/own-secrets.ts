import type { Exchange, ResponseHeaders } from '../../platform/http/types.ts';

/** Shorter texts are no keys, and replacing them would garble answers. */
const MIN_LENGTH = 6;
const HIDDEN = '[secret]';

/** What must not come back from an upstream: every credential that is sent to it, in each spelling. */
export interface OwnSecrets {
  readonly texts: readonly string[];
  /** Of them those that are covered even in streams. */
  readonly keys: readonly Buffer[];
}

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
  const texts = [...new Set(spelled)].toSorted((a, b) => b.length - a.length);
  return { texts, keys: keysAmong(texts) };
}

function basicParts(encoded: string): readonly string[] {
  const userinfo = Buffer.from(encoded, 'base64').toString();
  return [encoded, userinfo, userinfo.slice(userinfo.indexOf(':') + 1)];
}

/** The same bytes where they hold none of the secrets. */
export function bodyWithout({ texts }: OwnSecrets, body: Buffer): Buffer {
  if (!texts.some((secret) => body.includes(secret))) return body;
  return Buffer.from(
    texts.reduce((text, secret) => text.replaceAll(secret, HIDDEN), body.toString('utf8')),
  );
}

/** Drops headers whose value holds one of the secrets. */
export function headersWithout({ texts }: OwnSecrets, headers: ResponseHeaders): ResponseHeaders {
  const isClean = (name: string) => !texts.some((secret) => String(headers[name]).includes(secret));
  const names = Object.keys(headers);
  if (names.every(isClean)) return headers;
  return Object.fromEntries(names.filter(isClean).map((name) => [name, headers[name]]));
}

/** What no answer contains by chance; a key such as `ollama` or `pass-word` may be a word of an answer. */
const KEY = /^(?=.*\d)(?=.*[A-Za-z])[\w\-.~+/=%]{16,}$/;

/** Those of our credentials that are replaced in answers, as they stand in the bytes. */
export function keysAmong(texts: readonly string[]): readonly Buffer[] {
  return texts.filter((text) => KEY.test(text)).map((key) => Buffer.from(key));
}

/**
 * Wraps an exchange and covers `keys` in its body with as many bytes, so that an announced length still holds.
 * Must be called from the listener's `onHead`. The end of a piece is held back only where a key may begin in it.
 */
export function withoutKeys(inner: Exchange, keys: readonly Buffer[]): Exchange {
  const cover = new KeyCover(keys);
  let isAborted = false;
  const outer: Exchange = {
    listener: inner.listener,
    pause: () => inner.pause(),
    resume: () => inner.resume(),
    hasLeft: () => inner.hasLeft(),
    abort() {
      isAborted = true;
      inner.abort();
    },
  };
  const release = () => {
    const rest = cover.end();
    if (rest.length > 0) outer.listener.onData(rest);
    return !isAborted;
  };
  inner.listener = {
    onHead() {
      // `withoutKeys` is called from `onHead`, and there is only one.
    },
    onData(chunk) {
      const bytes = cover.push(chunk);
      if (bytes.length > 0) outer.listener.onData(bytes);
    },
    onEnd() {
      if (release()) outer.listener.onEnd();
    },
    onFailure(failure) {
      if (release()) outer.listener.onFailure(failure);
    },
  };
  return outer;
}

/** The same bytes where they hold none of `keys`. */
export function keysCovered(bytes: Buffer, keys: readonly Buffer[]): Buffer {
  let covered = bytes;
  for (const key of keys) {
    for (let at = covered.indexOf(key); at !== -1; at = covered.indexOf(key, at + key.length)) {
      // Bytes from the connection must not be changed in place.
      if (covered === bytes) covered = Buffer.from(bytes);
      covered.fill('*', at, at + key.length);
      covered.write(HIDDEN, at);
    }
  }
  return covered;
}

class KeyCover {
  readonly #keys: readonly Buffer[];
  /** Which bytes occur in keys: a piece that ends with another one, as events do, ends outside of any key. */
  readonly #isOfKey = new Uint8Array(256);
  /** May be the beginning of a key. */
  #held: Buffer = NOTHING;

  constructor(keys: readonly Buffer[]) {
    this.#keys = keys;
    for (const key of keys) for (const byte of key) this.#isOfKey[byte] = 1;
  }

  push(chunk: Buffer): Buffer {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const covered = keysCovered(bytes, this.#keys);
    const end = covered.length - this.#beginning(covered);
    this.#held = end === covered.length ? NOTHING : covered.subarray(end);
    return covered.subarray(0, end);
  }

  end(): Buffer {
    const rest = this.#held;
    this.#held = NOTHING;
    return rest;
  }

  /** How many bytes at the end are the beginning of a key, at most. */
  #beginning(bytes: Buffer): number {
    if (this.#isOfKey[bytes.at(-1) ?? 0] !== 1) return 0;
    let longest = 0;
    for (const key of this.#keys) {
      let length = Math.min(key.length - 1, bytes.length);
      while (length > longest && !bytes.subarray(-length).equals(key.subarray(0, length)))
        length -= 1;
      longest = Math.max(longest, length);
    }
    return longest;
  }
}

const NOTHING = Buffer.alloc(0);

/** The contents of the line that "Add a machine" shows on a gateway. */
export interface JoinLine {
  /** The gateway's origin, as in `http://192.168.1.10:47900`. */
  readonly url: string;
  /** The origins of other gateways of the same pool. */
  readonly others: readonly string[];
  readonly token: string;
}

/** Finds the addresses and the token in a pasted line, whatever its command; null if either is missing. */
export function parseJoinLine(text: string): JoinLine | null {
  const [url, ...others] = text.match(/https?:\/\/[^\s'"()|/,]+/g) ?? [];
  const token = /(?<!\w)[0-9a-f]{64}(?!\w)/.exec(text)?.[0];
  return url === undefined || token === undefined ? null : { url, others, token };
}

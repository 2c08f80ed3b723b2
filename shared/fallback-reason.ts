/** One entry of `X-Gateway-Fallback-Reason`. */
interface FallbackEntry {
  readonly upstream: string;
  /** The machine of the local pool that it is about; null for the upstream as a whole. */
  readonly provider: string | null;
  readonly reason: string;
}

/** Reads a fallback reason value; `none` has no entries. */
export function parseFallbackReason(value: string): readonly FallbackEntry[] {
  if (value === 'none') return [];
  return value
    .split(';')
    .map((entry) => entry.trim())
    .filter((entry) => entry.includes('='))
    .map((entry) => {
      const [place = '', reason = ''] = entry.split('=');
      const [upstream = '', provider = null] = place.split('/');
      return { upstream, provider, reason };
    });
}

import type { IncomingHttpHeaders } from 'node:http';

/** Whether a request forbids spending. Node joins a header that was sent twice, so one `1` in it is enough. */
export function forcesZero(headers: IncomingHttpHeaders): boolean {
  const value = headers['x-gateway-force-zero'];
  return typeof value === 'string' && value.split(',').some((each) => each.trim() === '1');
}

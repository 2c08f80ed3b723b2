import type {
  IncomingHttpHeaders,
  IncomingMessage,
  OutgoingHttpHeaders,
  ServerResponse,
} from 'node:http';
import type { Clock } from '../../platform/clock.ts';
import { sendJson, sendJsonEarly } from '../../platform/http/responses.ts';
import { errorBody, errorHeaders, errorShapeFor, type GatewayError } from './errors.ts';

/** Answers with an error of the gateway's own, in the shape that the caller reads. */
export function sendError(
  res: ServerResponse,
  error: GatewayError,
  headers: OutgoingHttpHeaders = {},
): void {
  sendJson(res, error.status, bodyFor(res.req, error, headers), {
    ...errorHeaders(error),
    ...headers,
  });
}

function bodyFor(req: IncomingMessage, error: GatewayError, headers: OutgoingHttpHeaders) {
  const id = headers['x-gateway-request-id'];
  return errorBody(error, errorShapeFor(req), typeof id === 'string' ? id : null);
}

/** What happens to a body that is still arriving after its request was refused. */
export interface RestOfBody {
  /** The connection is closed once this many more bytes have arrived; left out: no limit. */
  readonly maxRestBytes?: number;
}

/** Answers a request with an error while its body may still be arriving. */
export function sendErrorEarly(
  req: IncomingMessage,
  res: ServerResponse,
  error: GatewayError,
  {
    headers,
    clock,
    maxRestBytes = Infinity,
  }: { readonly headers: OutgoingHttpHeaders; readonly clock: Clock } & RestOfBody,
): void {
  const all = { ...errorHeaders(error), ...headers };
  const value = bodyFor(req, error, headers);
  const response = { status: error.status, value, headers: all };
  sendJsonEarly(req, res, response, { clock, maxRestBytes });
}

/** Whether a request forbids spending. Node joins a header that was sent twice, so one `1` in it is enough. */
export function forcesZero(headers: IncomingHttpHeaders): boolean {
  const value = headers['x-gateway-force-zero'];
  return typeof value === 'string' && value.split(',').some((each) => each.trim() === '1');
}

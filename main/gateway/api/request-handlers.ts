import type { Request, Response } from 'express';
import { FACETS, REQUEST_FILTERS } from '#shared/request-filter.ts';
import type { RequestsWanted } from '#shared/request-page.ts';
import { sendJson } from '../../platform/http/responses.ts';
import type { GatewayError } from '../http/errors.ts';
import { sendError } from '../http/responses.ts';
import type { RequestReader } from '../monitoring/request-reader.ts';

export function requestHandlers({ requests }: { readonly requests: RequestReader }) {
  return {
    list: async (req: Request, res: Response) => {
      const wanted = wantedOf(req.query);
      if ('code' in wanted) sendError(res, wanted);
      else sendJson(res, 200, await requests.page(wanted));
    },
    get: async (req: Request, res: Response) => {
      const id = String(req.params['id']);
      const row = await requests.one(id);
      if (row === null) sendError(res, notFound(id));
      else sendJson(res, 200, row);
    },
  };
}

type Query = Request['query'];

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 500;
const NARROWINGS = [...FACETS, 'text'] as const;

/** An error names the first bad parameter. */
function wantedOf(query: Query): RequestsWanted | GatewayError {
  const { outcome = 'all' } = query;
  const filter = REQUEST_FILTERS.find((name) => name === outcome);
  if (filter === undefined) return bad('outcome', `must be one of ${REQUEST_FILTERS.join(', ')}`);
  const repeated = NARROWINGS.find((name) => typeof (query[name] ?? '') !== 'string');
  if (repeated !== undefined) return bad(repeated, 'must be given only once');
  const before = wholeNumber(query['before']);
  if (Number.isNaN(before)) return bad('before', 'must be a time in whole milliseconds');
  const limit = wholeNumber(query['limit']) ?? DEFAULT_LIMIT;
  if (!(limit >= 1 && limit <= MAX_LIMIT)) {
    return bad('limit', `must be a whole number from 1 to ${MAX_LIMIT}`);
  }
  const by = NARROWINGS.flatMap((name) => (query[name] ? [[name, query[name]]] : []));
  return { filter, by: Object.fromEntries(by) as RequestsWanted['by'], before, limit };
}

/** Null if the parameter is missing, NaN if it is not a whole number. */
function wholeNumber(given: Query[string]): number | null {
  if (given === undefined) return null;
  return typeof given === 'string' && /^\d{1,15}$/.test(given) ? Number(given) : NaN;
}

function bad(param: string, what: string): GatewayError {
  return { status: 400, code: 'invalid_request', param, message: `'${param}' ${what}.` };
}

function notFound(id: string): GatewayError {
  const message = `There is no request "${id.slice(0, 100)}", or it is no longer stored.`;
  return { status: 404, code: 'not_found', message };
}

import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { Request, Response } from 'express';
import type { GatewayErrorCode } from '#shared/errors.ts';
import { memberOf } from '../json.ts';
import type { HttpError } from './responses.ts';

/** Who may use a route (docs/reference/http-api.md#authentication). */
export type Access = 'anyone' | 'callers' | 'control' | 'agents';

/** A route writes its answer itself, or returns it, so that the server sends errors in the shape that the caller reads. */
export type Route = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly paths: readonly string[];
  readonly access: Access;
} & (
  | { readonly handle: (req: Request, res: Response) => void }
  | { readonly answer: (request: RouteRequest) => RouteAnswer | Promise<RouteAnswer> }
);

/** A route that returns its answer, at one path or several. */
export function route(
  method: Route['method'],
  path: string | readonly string[],
  access: Access,
  answer: Extract<Route, { readonly answer: unknown }>['answer'],
): Route {
  return { method, paths: typeof path === 'string' ? [path] : path, access, answer };
}

/** A request to a route that returns its answer. */
export interface RouteRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The parts of the path that its route names. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  /** Parsed JSON; undefined if none was sent. */
  readonly json: unknown;
  /** The body as sent, for `agents` only: their signatures cover it. */
  readonly body: Buffer;
  /** Remote address of the connection; an IPv4 one without its form in IPv6. */
  readonly ip: string;
  readonly socket: Socket;
  /** The address at which other machines reach this gateway. */
  readonly gatewayUrl: string;
}

export interface Refusal extends HttpError {
  readonly kind: 'refused';
  readonly code: GatewayErrorCode;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Answer<T = unknown> =
  { readonly kind: 'answered'; readonly status: number; readonly body: T } | Refusal;

/** JSON, an error, or the bytes of a file. */
export type RouteAnswer =
  Answer | { readonly kind: 'file'; readonly type: string; readonly body: Buffer };

export function answered<T>(body: T, status = 200): Answer<T> {
  return { kind: 'answered', status, body };
}

/** `param`: the field or parameter at fault. */
export function invalidRequest(message: string, param?: string): Refusal {
  const named = param === undefined ? {} : { param };
  return { kind: 'refused', status: 400, code: 'invalid_request', message, ...named };
}

export function textAt(json: unknown, field: string): string | null {
  const value = memberOf(json, field);
  return typeof value === 'string' ? value : null;
}

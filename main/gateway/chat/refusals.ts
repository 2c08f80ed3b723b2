import { isoTime } from '../../platform/dates.ts';
import { TOO_SLOW_BODY } from '../../platform/http/server.ts';
import type { GatewayError } from '../http/errors.ts';
import type { ApiEndpoint } from '../protocols/endpoint.ts';
import type { AdmissionView } from './admission.ts';

const NO_MEDIA = { status: 415, code: 'unsupported_media_type' } as const;

export const UNSUPPORTED_MEDIA: Readonly<Record<ApiEndpoint['body'], GatewayError>> = {
  json: {
    ...NO_MEDIA,
    message: 'The body must be JSON, uncompressed: send "Content-Type: application/json".',
  },
  multipart: {
    ...NO_MEDIA,
    message: 'The body must be a form, uncompressed: send "Content-Type: multipart/form-data".',
  },
};

export const OVERLOADED: GatewayError = {
  status: 503,
  code: 'overloaded',
  message:
    'The requests in flight hold as many bytes as SWITCHYARD_MAX_BODIES_IN_FLIGHT_BYTES allows; try again in a moment.',
  retryAfterMs: 1000,
};

export const TOO_SLOW: GatewayError = {
  status: 408,
  code: 'request_timeout',
  message: TOO_SLOW_BODY,
};

export function tooMany({ limit }: AdmissionView): GatewayError {
  return {
    status: 503,
    code: 'overloaded',
    message: `${limit} requests are in flight, as many as SWITCHYARD_MAX_CONCURRENT_REQUESTS allows, and others are waiting; try again in a moment.`,
    retryAfterMs: 2000,
  };
}

/** A limit of the caller's key that it has reached. */
export interface ReachedLimit {
  readonly key: string;
  readonly of: 'requests' | 'tokens';
  readonly period: 'day' | 'month';
  readonly limit: number;
  /** When it resets, in wall-clock milliseconds. */
  readonly until: number;
}

export function limitReached(reached: ReachedLimit, nowMs: number): GatewayError {
  const { key, of, period, limit, until } = reached;
  return {
    status: 429,
    code: 'key_limit_reached',
    message: `The key "${key}" has reached its limit (${of} a ${period}: ${limit}), which resets at ${isoTime(until)}. The gateway's owner can raise it with "switchyard keys limit ${key}".`,
    retryAfterMs: until - nowMs,
  };
}

/** Clients that retry by themselves must not do so every few seconds until the next day. */
export const NO_RETRY = { 'x-should-retry': 'false' };

/** The limit of a body and the setting that it comes from. */
export interface Limit {
  readonly maxBytes: number;
  readonly setting: 'MAX_BODY_BYTES' | 'MAX_BODIES_IN_FLIGHT_BYTES';
}

export function tooLarge({ maxBytes, setting }: Limit): GatewayError {
  return {
    status: 413,
    code: 'body_too_large',
    message: `The body is over ${maxBytes} bytes; SWITCHYARD_${setting} raises the limit.`,
  };
}

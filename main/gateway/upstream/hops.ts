import type { IncomingHttpHeaders } from 'node:http';

/** The gateways that a request has passed through, by their random IDs, separated by commas. */
const HOPS_HEADER = 'x-gateway-hops';
/** A gateway in front of another's machines is two; more are a loop through gateways that drop part of the header. */
const MAX_HOPS = 5;

/** Whether a request has come back to the gateway `id`, or has been passed on too often. */
export function isLoop(headers: IncomingHttpHeaders, id: string): boolean {
  const hops = hopsOf(headers);
  return hops.includes(id) || hops.length >= MAX_HOPS;
}

/** Adds this gateway to the headers that are forwarded. */
export function addHop(headers: IncomingHttpHeaders, id: string): void {
  headers[HOPS_HEADER] = [...hopsOf(headers), id].join(',');
}

function hopsOf({ [HOPS_HEADER]: value }: IncomingHttpHeaders): readonly string[] {
  return typeof value === 'string' && value !== '' ? value.split(/\s*,\s*/) : [];
}

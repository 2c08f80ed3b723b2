import type { Request } from 'express';
import { isLoopbackHost } from '../../platform/http/server.ts';

/** The address that a request was sent to; a proxy that terminates TLS says so in a header. */
export function askedUrl(req: Request): string {
  const scheme = req.get('x-forwarded-proto') === 'https' ? 'https' : req.protocol;
  return `${scheme}://${req.get('host') ?? ''}`;
}

/** Whether a request was sent to a loopback name, which other machines cannot use. */
export function isAskedOnLoopback(req: Request): boolean {
  return isLoopbackHost((req.get('host') ?? '').replace(/:\d*$/, ''));
}

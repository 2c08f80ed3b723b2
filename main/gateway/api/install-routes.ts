import { hash } from 'node:crypto';
import type { Request, Response } from 'express';
import type { InstallLines } from '#shared/install.ts';
import { sendBody, sendJson } from '../../platform/http/responses.ts';
import { type GatewayError, sendError } from '../http/errors.ts';
import {
  type Installed,
  unixInstaller,
  unixLine,
  windowsInstaller,
  windowsLine,
} from './installers.ts';
import { isLoopbackHost } from '../../platform/http/addresses.ts';
import type { Route } from '../../platform/http/routes.ts';
import { ownRoute } from './routes.ts';
export type OwnPackage =
  | {
      readonly kind: 'packed';
      readonly name: string;
      readonly version: string;
      readonly tarball: Buffer;
      readonly sha256: string;
    }
  /** `why` is a sentence. */
  | { readonly kind: 'unavailable'; readonly why: string };

type PackedPackage = Extract<OwnPackage, { readonly kind: 'packed' }>;

interface InstallDeps {
  readonly ownPackage: () => Promise<OwnPackage>;
  readonly isShared: () => boolean;
  /** The address at which other machines reach this gateway. */
  readonly gatewayUrl: (req: Request) => string;
}

const NOT_SHARED: GatewayError = {
  status: 409,
  code: 'not_shared',
  message:
    "This gateway listens on this machine only, so no other machine can install from it. Share it in the dashboard (Settings, Share on a network), or set INGLENOOK_HOST to this machine's address in your network and INGLENOOK_API_KEYS to a key of your own, then restart it.",
};

export function installRoutes({ ownPackage, isShared, gatewayUrl }: InstallDeps): readonly Route[] {
  const withPackage =
    (send: (packed: PackedPackage, req: Request, res: Response) => void) =>
    async (req: Request, res: Response): Promise<void> => {
      // A gateway on loopback can be shared through a proxy, which passes its own name on.
      if (!isShared() && isAskedOnLoopback(req)) {
        sendError(res, NOT_SHARED);
        return;
      }
      const packed = await ownPackage();
      if (packed.kind === 'packed') send(packed, req, res);
      else sendError(res, { status: 503, code: 'package_unavailable', message: packed.why });
    };
  const script = (installer: (installed: Installed) => string) =>
    withPackage((packed, req, res) => {
      const text = installer({ ...packed, url: askedUrl(req) });
      sendFile(res, 'text/plain; charset=utf-8', Buffer.from(text));
    });
  return [
    ownRoute('GET', ['/install'], 'anyone', script(unixInstaller)),
    ownRoute('GET', ['/install.ps1'], 'anyone', script(windowsInstaller)),
    ownRoute(
      'GET',
      ['/install/package.tgz'],
      'anyone',
      withPackage(({ tarball }, _req, res) => sendFile(res, 'application/octet-stream', tarball)),
    ),
    ownRoute(
      'GET',
      ['/api/v1/install'],
      'control',
      withPackage((packed, req, res) => {
        const url = gatewayUrl(req);
        const installed: Installed = { ...packed, url };
        const lines: InstallLines = {
          version: packed.version,
          unix: { line: unixLine(url), sha256: hash('sha256', unixInstaller(installed)) },
          windows: { line: windowsLine(url), sha256: hash('sha256', windowsInstaller(installed)) },
        };
        sendJson(res, 200, lines);
      }),
    ),
  ];
}

function sendFile(res: Response, type: string, body: Buffer): void {
  sendBody(res, 200, body, { 'content-type': type, 'x-content-type-options': 'nosniff' });
}

/** The address that a request was sent to; a proxy that terminates TLS says so in a header. */
export function askedUrl(req: Request): string {
  const scheme = req.get('x-forwarded-proto') === 'https' ? 'https' : req.protocol;
  return `${scheme}://${req.get('host') ?? ''}`;
}

/** Whether a request was sent to a loopback name, which other machines cannot use. */
export function isAskedOnLoopback(req: Request): boolean {
  return isLoopbackHost((req.get('host') ?? '').replace(/:\d*$/, ''));
}

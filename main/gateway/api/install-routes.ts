import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import type { InstallLines } from '#shared/install.ts';
import { type GatewayError, refused } from '../http/errors.ts';
import { isLoopbackHost } from '../../platform/http/addresses.ts';
import {
  answered,
  route,
  type Route,
  type RouteAnswer,
  type RouteRequest,
} from '../../platform/http/routes.ts';

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
}

const NOT_SHARED: GatewayError = {
  status: 409,
  code: 'not_shared',
  message:
    "This gateway listens on this machine only, so no other machine can install from it. Share it in the dashboard (Settings, Share on a network), or run 'inglenook keys add me' and 'inglenook set gateway.host' with this machine's address in your network, then restart it.",
};

export function installRoutes({ ownPackage, isShared }: InstallDeps): readonly Route[] {
  const withPackage =
    (answer: (packed: PackedPackage, request: RouteRequest) => RouteAnswer) =>
    async (request: RouteRequest): Promise<RouteAnswer> => {
      // A gateway on loopback can be shared through a proxy, which passes its own name on.
      if (!isShared() && isAskedOnLoopback(request.headers)) return refused(NOT_SHARED);
      const packed = await ownPackage();
      return packed.kind === 'packed'
        ? answer(packed, request)
        : refused({ status: 503, code: 'package_unavailable', message: packed.why });
    };
  const script = (installer: (installed: Installed) => string) =>
    withPackage((packed, { headers }) => {
      const body = Buffer.from(installer({ ...packed, url: askedUrl(headers) }));
      return { kind: 'file', type: 'text/plain; charset=utf-8', body };
    });
  const tarball = withPackage(({ tarball: body }) => {
    return { kind: 'file', type: 'application/octet-stream', body };
  });
  const lines = withPackage((packed, { gatewayUrl: url }) => {
    const installed: Installed = { ...packed, url };
    return answered<InstallLines>({
      version: packed.version,
      unix: { line: unixLine(url), sha256: hash('sha256', unixInstaller(installed)) },
      windows: { line: windowsLine(url), sha256: hash('sha256', windowsInstaller(installed)) },
    });
  });
  return [
    route('GET', '/install', 'anyone', script(unixInstaller)),
    route('GET', '/install.ps1', 'anyone', script(windowsInstaller)),
    route('GET', '/install/package.tgz', 'anyone', tarball),
    route('GET', '/api/v1/install', 'control', lines),
  ];
}

interface Installed {
  /** Of the gateway, as the other machine reaches it. */
  readonly url: string;
  readonly name: string;
  readonly version: string;
  readonly sha256: string;
}

const unixLine = (url: string) => `curl -fsS ${url}/install | sh -s -- <token>`;

export const windowsLine = (url: string) =>
  `& ([scriptblock]::Create((irm ${url}/install.ps1))) <token>`;

/** For Linux and macOS. It runs nothing until it has arrived completely. */
export const unixInstaller = (installed: Installed) => scriptOf('install.sh', installed);

/** For Windows PowerShell 5 and newer. */
export const windowsInstaller = (installed: Installed) => scriptOf('install.ps1', installed);

/** A script that lies beside this file, with values for what it names as `@url@`. */
function scriptOf(file: string, installed: Installed): string {
  return readFileSync(join(import.meta.dirname, file), 'utf8').replaceAll(
    /@(url|name|version|sha256)@/g,
    (_, name: keyof Installed) => installed[name],
  );
}

/** The address that a request was sent to; a proxy that terminates TLS says so in a header. */
export function askedUrl(headers: IncomingHttpHeaders): string {
  const scheme = headers['x-forwarded-proto'] === 'https' ? 'https' : 'http';
  return `${scheme}://${headers.host ?? ''}`;
}

/** Whether a request was sent to a loopback name, which other machines cannot use. */
export function isAskedOnLoopback({ host = '' }: IncomingHttpHeaders): boolean {
  return isLoopbackHost(host.replace(/:\d*$/, ''));
}

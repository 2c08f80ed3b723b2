import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { listening } from '../support/listening.ts';

/** Why npm could not fetch anything, from the error of a program that ran it; null for another failure. */
export function unreachableRegistry(error: unknown): string | null {
  const { stderr = '' } = error as { readonly stderr?: string };
  const isOffline = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENOTCACHED|CERT|network/i;
  if (!isOffline.test(stderr)) return null;
  return `the npm registry cannot be reached: ${stderr.split('\n')[0] ?? ''}`;
}

interface Manifest {
  readonly name: string;
  readonly version: string;
}

/**
 * A registry on loopback. It speaks the part of the protocol that `npm install` and `npx` use
 * (https://github.com/npm/registry/blob/main/docs/REGISTRY-API.md).
 */
export async function startNpmRegistry() {
  const packages = new Map<string, { versions: Record<string, object>; latest: string }>();
  const tarballs = new Map<string, Buffer>();
  const server = createServer((request, response) => {
    // npm is told not to try again, so it must not ask over a connection that is just timing out.
    response.setHeader('connection', 'close');
    const path = decodeURIComponent(request.url ?? '').slice(1);
    const found = packages.get(path);
    const tarball = tarballs.get(path);
    if (tarball !== undefined) response.end(tarball);
    else if (found === undefined) response.writeHead(404).end('{"error":"not_found"}');
    else {
      const { versions, latest } = found;
      response.end(JSON.stringify({ name: path, versions, 'dist-tags': { latest } }));
    }
  });
  const url = `http://127.0.0.1:${await listening(server)}`;
  onTestFinished(async () => {
    server.closeAllConnections();
    await promisify(server.close.bind(server))();
  });
  return {
    url,
    /** Adds the package in this folder as the latest version of its name. */
    publish: (folder: string): void => {
      const text = readFileSync(join(folder, 'package.json'), 'utf8');
      const manifest = JSON.parse(text) as Manifest;
      const { name, version } = manifest;
      const path = `${name}@${version}.tgz`;
      const tar = ['-czf', '-', '-C', dirname(folder), basename(folder)];
      tarballs.set(path, execFileSync('tar', tar, { maxBuffer: 2 ** 28 }));
      const versions = packages.get(name)?.versions ?? {};
      versions[version] = { ...manifest, dist: { tarball: `${url}/${path}` } };
      packages.set(name, { versions, latest: version });
    },
  };
}

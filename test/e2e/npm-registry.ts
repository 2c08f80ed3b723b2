import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
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

interface Publication {
  readonly name: string;
  readonly versions: Readonly<Record<string, { readonly dist: { tarball: string } }>>;
  readonly 'dist-tags': Readonly<Record<string, string>>;
  readonly _attachments: Readonly<Record<string, { readonly data: string }>>;
}

/**
 * A registry on loopback. It speaks the part of the protocol that `npm publish`, `npm install` and `npx` use
 * (https://github.com/npm/registry/blob/main/docs/REGISTRY-API.md). Versions are added and never replaced.
 * @returns its address
 */
export async function startNpmRegistry(): Promise<string> {
  const packages = new Map<string, Publication>();
  const tarballs = new Map<string, Buffer>();
  const server = createServer((request, response) => {
    // npm is told not to try again, so it must not ask over a connection that is just timing out.
    const headers = { connection: 'close' };
    void answer(request).then(({ status, body }) => response.writeHead(status, headers).end(body));
  });
  const url = `http://127.0.0.1:${await listening(server)}`;
  onTestFinished(async () => {
    server.closeAllConnections();
    await promisify(server.close.bind(server))();
  });

  async function answer(request: IncomingMessage) {
    const path = decodeURIComponent(request.url ?? '').slice(1);
    if (request.method === 'PUT') return publish(JSON.parse(await text(request)) as Publication);
    const tarball = tarballs.get(path);
    const known = packages.get(path);
    if (tarball !== undefined) return { status: 200, body: tarball };
    if (known === undefined) return { status: 404, body: '{"error":"not_found"}' };
    return { status: 200, body: JSON.stringify(known) };
  }

  function publish(publication: Publication) {
    const { name, versions, _attachments: attachments } = publication;
    const before = packages.get(name);
    for (const [version, manifest] of Object.entries(versions)) {
      if (before !== undefined && version in before.versions) {
        return { status: 403, body: '{"error":"cannot publish over a published version"}' };
      }
      const [attached] = Object.values(attachments);
      tarballs.set(`${name}@${version}.tgz`, Buffer.from(attached?.data ?? '', 'base64'));
      manifest.dist.tarball = `${url}/${name}@${version}.tgz`;
    }
    packages.set(name, {
      ...publication,
      versions: { ...before?.versions, ...versions },
      'dist-tags': { ...before?.['dist-tags'], ...publication['dist-tags'] },
      _attachments: {},
    });
    return { status: 201, body: '{"ok":true}' };
  }

  return url;
}

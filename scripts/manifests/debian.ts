import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import type { Manifests, Release, ReleaseFile } from './release.ts';

/** The index of a flat repository, to lie beside the package: https://wiki.debian.org/DebianRepository/Format */
export function debian(release: Release, deb: ReleaseFile): Manifests {
  const control = execFileSync('dpkg-deb', ['--field', deb.path], { encoding: 'utf8' }).trim();
  const [, architecture = 'amd64'] = /^Architecture: (.+)$/m.exec(control) ?? [];
  const packages = `${control}
Filename: ./${deb.name}
Size: ${statSync(deb.path).size}
SHA256: ${deb.sha256}
`;
  const digest = createHash('sha256').update(packages).digest('hex');
  const index = `Origin: ${release.product}
Label: ${release.product}
Suite: stable
Architectures: ${architecture}
Date: ${new Date().toUTCString().replace('GMT', 'UTC')}
SHA256:
 ${digest} ${Buffer.byteLength(packages)} Packages
`;
  return { 'deb/Packages': packages, 'deb/Release': index };
}

import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { aur } from './manifests/aur.ts';
import { debian } from './manifests/debian.ts';
import { cask, formula } from './manifests/homebrew.ts';
import type { Manifests, Release, ReleaseFile } from './manifests/release.ts';
import { winget } from './manifests/winget.ts';

// `npm run manifests [folder] [target]`: writes what package managers want to know of a release into dist/manifests, from
// package.json and the files of the release in the folder. SWITCHYARD_HOMEPAGE is the repository's page.

const ROOT = join(import.meta.dirname, '..');

const packageSchema = z.object({
  name: z.string(),
  version: z.string(),
  description: z.string(),
  license: z.string(),
  author: z.string(),
});
const builderSchema = z.object({ appId: z.string(), productName: z.string() });

function releaseAt(homepage: string): Release {
  const read = (name: string) => readFileSync(join(ROOT, name), 'utf8');
  const { description, ...named } = packageSchema.parse(JSON.parse(read('package.json')));
  const { appId, productName } = builderSchema.parse(parse(read('electron-builder.yml')));
  const summary = description.replace(/:.*/, '').replace(/^An? /, '');
  return { ...named, description, summary, appId, product: productName, homepage };
}

/** Each kind of file, and the manifests that are made of it. */
const KINDS: readonly {
  readonly ending: string;
  readonly make: (release: Release, file: ReleaseFile) => Manifests;
}[] = [
  { ending: '.tgz', make: formula },
  { ending: '.dmg', make: cask },
  { ending: '.exe', make: winget },
  {
    ending: '-amd64.deb',
    make: (release, file) => ({ ...aur(release, file), ...debian(release, file) }),
  },
];

function fileAt(folder: string, name: string, release: Release): ReleaseFile {
  const path = join(folder, name);
  const sha256 = createHash('sha256').update(readFileSync(path)).digest('hex');
  const url = `${release.homepage}/releases/download/v${release.version}/${name}`;
  return { name, path, sha256, url };
}

const homepage = process.env['SWITCHYARD_HOMEPAGE']?.replace(/\/+$/, '') ?? '';
if (!/^https:\/\/[^/]+\/[^/]+\/[^/]+$/.test(homepage)) {
  console.error(
    'Set SWITCHYARD_HOMEPAGE to the page of the repository, such as https://github.com/owner/name.',
  );
  process.exit(1);
}
const [, , folder = join(ROOT, 'release'), target = join(ROOT, 'dist/manifests')] = process.argv;
const release = releaseAt(homepage);
const names = readdirSync(folder).filter((name) => name.includes(`-${release.version}`));
rmSync(target, { recursive: true, force: true });
for (const { ending, make } of KINDS) {
  const name = names.find((one) => one.endsWith(ending));
  if (name === undefined) {
    console.error(`${folder} has no file of version ${release.version} that ends in ${ending}.`);
    process.exitCode = 1;
    continue;
  }
  for (const [path, text] of Object.entries(make(release, fileAt(folder, name, release)))) {
    const at = join(target, path);
    mkdirSync(dirname(at), { recursive: true });
    writeFileSync(at, text);
    console.log(at);
  }
}

import { Ajv, type AnySchemaObject } from 'ajv';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { temporaryDirectory } from '../support/gateway.ts';
import { giveTreeToOtherUser, OTHER_USER } from '../support/other-user.ts';

const ROOT = join(import.meta.dirname, '../..');
const HOMEPAGE = 'https://github.com/owner/inglenook';
const { name, version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  name: string;
  version: string;
};
const DEB = `Inglenook-${version}-linux-amd64.deb`;
const CONTROL = `Package: inglenook
Version: ${version}
Architecture: amd64
Maintainer: Inglenook contributors
Description: LLM gateway in the tray
`;

const has = (program: string) => spawnSync(program, ['--version']).error === undefined;
const sha256 = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

function make(folder: string, homepage = HOMEPAGE) {
  const target = join(folder, 'manifests');
  const env = { ...process.env, INGLENOOK_HOMEPAGE: homepage };
  const args = [join(ROOT, 'scripts/manifests.ts'), folder, target];
  const { status, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });
  const read = (path: string) => readFileSync(join(target, path), 'utf8');
  return { status, stderr, target, read };
}

/** A folder with the files of a release, which are empty but for a small deb package. */
function releaseFolder(): string {
  const folder = temporaryDirectory();
  for (const file of [
    `${name}-${version}.tgz`,
    `Inglenook-${version}-mac-arm64.dmg`,
    `Inglenook-${version}-win-x64.exe`,
  ])
    writeFileSync(join(folder, file), file);
  const root = join(folder, 'root');
  for (const at of ['DEBIAN', 'opt/Inglenook', 'usr/bin'])
    mkdirSync(join(root, at), { recursive: true });
  writeFileSync(join(root, 'DEBIAN/control'), CONTROL);
  writeFileSync(join(root, 'opt/Inglenook/chrome-sandbox'), '');
  execFileSync('dpkg-deb', ['--root-owner-group', '--build', root, join(folder, DEB)]);
  return folder;
}

test('the manifests for winget follow its schemas', (ctx) => {
  if (!has('dpkg-deb')) return ctx.skip('dpkg-deb is not installed');
  const { read, status } = make(releaseFolder());
  expect(status).toBe(0);
  const text = readFileSync(join(import.meta.dirname, 'winget/schemas.json'), 'utf8');
  const schemas = JSON.parse(text) as Record<string, AnySchemaObject>;
  const kinds = { version: '', installer: '.installer', defaultLocale: '.locale.en-US' };
  for (const [kind, ending] of Object.entries(kinds)) {
    const accepts = new Ajv({ allowUnionTypes: true }).compile(schemas[kind] ?? {});
    const manifest = read(`winget/Inglenook.Inglenook${ending}.yaml`);
    expect([accepts(parse(manifest)), accepts.errors]).toEqual([true, null]);
    for (const line of manifest.match(/^(?:Package\w+|Manifest\w+| +InstallerSha256): .+$/gm) ??
      []) {
      expect(accepts(parse(manifest.replace(line, line.replace(/:.*/, ': 0'))))).toBe(false);
    }
  }
});

test('the recipe for AUR and its .SRCINFO agree, and its package has the app, the command and a sandbox', (ctx) => {
  if (!has('dpkg-deb')) return ctx.skip('dpkg-deb is not installed');
  const folder = releaseFolder();
  const { target, read } = make(folder);
  const said = read('aur/.SRCINFO').matchAll(/^\t?(\w+) = (.+)$/gm);
  const fields = [...said].map(([, field = '', value = '']) => [field, value] as const);
  const names = [...new Set(fields.map(([field]) => field))].filter((field) => field !== 'pkgbase');
  const bash = (script: string, cwd: string) =>
    execFileSync(
      'bash',
      ['--norc', '-euc', `source "$1"; ${script}`, 'bash', join(target, 'aur/PKGBUILD')],
      {
        cwd,
        encoding: 'utf8',
        env: { PATH: process.env['PATH'], pkgdir: join(folder, 'packed') },
      },
    );
  for (const field of names) {
    const values = fields.filter(([one]) => one === field).map(([, value]) => value);
    expect(bash(`printf '%s\\n' "\${${field}[@]}"`, folder).trim().split('\n')).toEqual(values);
  }
  // What https://wiki.archlinux.org/title/PKGBUILD requires, and a source with its digest.
  const required = ['pkgname', 'pkgver', 'pkgrel', 'arch', 'license', 'source', 'sha256sums'];
  expect(names).toEqual(expect.arrayContaining(required));
  expect(new Map(fields).get('sha256sums')).toBe(sha256(join(folder, DEB)));

  mkdirSync(join(folder, 'packed'));
  const data = execFileSync('dpkg-deb', ['--fsys-tarfile', join(folder, DEB)]);
  writeFileSync(join(folder, 'data.tar.any'), data);
  bash('package', folder);
  const listed = execFileSync('stat', ['-c', '%a', 'packed/opt/Inglenook/chrome-sandbox'], {
    cwd: folder,
  });
  expect(listed.toString().trim()).toBe('4755');
});

test('makepkg, as the AUR asks for, makes the same .SRCINFO of the recipe', (ctx) => {
  if (!has('dpkg-deb')) return ctx.skip('dpkg-deb is not installed');
  if (!has('makepkg')) return ctx.skip('makepkg is not installed');
  const folder = releaseFolder();
  const { target, read } = make(folder);
  const written = read('aur/.SRCINFO');
  giveTreeToOtherUser(folder);
  const printed = execFileSync('makepkg', ['--printsrcinfo'], {
    cwd: join(target, 'aur'),
    // Without pacman it would not start; it asks it for nothing here.
    env: { PATH: process.env['PATH'], HOME: folder, PACMAN: 'true' },
    encoding: 'utf8',
    // It refuses root.
    ...(OTHER_USER === null ? {} : { uid: OTHER_USER, gid: OTHER_USER }),
  });
  expect(printed).toBe(written);
});

test('apt reads the index of the deb repository and gets the package by its digest', (ctx) => {
  if (!has('apt-get')) return ctx.skip('apt is not installed');
  const folder = releaseFolder();
  const { read } = make(folder);
  for (const file of ['Packages', 'Release'])
    writeFileSync(join(folder, file), read(`deb/${file}`));
  const state = temporaryDirectory();
  for (const at of ['lists/partial', 'cache/archives/partial', 'parts'])
    mkdirSync(join(state, at), { recursive: true });
  writeFileSync(join(state, 'sources.list'), `deb [trusted=yes arch=amd64] file:${folder} ./\n`);
  writeFileSync(join(state, 'status'), '');
  const options = Object.entries({
    'Dir::Etc::sourcelist': 'sources.list',
    'Dir::Etc::sourceparts': 'parts',
    'Dir::State::lists': 'lists',
    'Dir::State::status': 'status',
    'Dir::Cache': 'cache',
  }).flatMap(([option, path]) => ['-o', `${option}=${join(state, path)}`]);
  const apt = (...args: readonly string[]) =>
    execFileSync('apt-get', [...options, '-o', 'APT::Sandbox::User=root', ...args], {
      cwd: state,
      stdio: 'pipe',
      encoding: 'utf8',
    });
  apt('update');
  expect(apt('--print-uris', 'download', 'inglenook:amd64')).toContain(sha256(join(folder, DEB)));
  // Checks size and digest; changed, the package is refused.
  apt('download', 'inglenook:amd64');
  for (const one of globSync('*.deb', { cwd: state })) rmSync(join(state, one));
  writeFileSync(join(folder, DEB), Buffer.alloc(readFileSync(join(folder, DEB)).length));
  expect(() => apt('download', 'inglenook:amd64')).toThrow(/Hash Sum mismatch|unexpected size/);
});

test('the formula and the cask for Homebrew have what it asks for, in its order', (ctx) => {
  if (!has('dpkg-deb')) return ctx.skip('dpkg-deb is not installed');
  const { target, read } = make(releaseFolder());
  const formula = read(`homebrew/Formula/${name}.rb`);
  const cask = read('homebrew/Casks/inglenook.rb');
  const wordsOf = (text: string) =>
    [...text.matchAll(/^ {2}(\w+)/gm)].map(([, word]) => word).filter((word) => word !== 'end');
  // https://docs.brew.sh/Formula-Cookbook and https://docs.brew.sh/Cask-Cookbook#stanza-order
  const formulaOrder = [
    'desc',
    'homepage',
    'url',
    'sha256',
    'license',
    'depends_on',
    'def',
    'service',
    'test',
  ];
  const caskOrder = [
    'version',
    'sha256',
    'url',
    'name',
    'desc',
    'homepage',
    'depends_on',
    'app',
    'uninstall',
    'zap',
  ];
  expect([wordsOf(formula), wordsOf(cask)]).toEqual([formulaOrder, caskOrder]);
  for (const text of [formula, cask]) {
    const [, summary = ''] = /desc "(.*)"/.exec(text) ?? [];
    expect(summary).toMatch(/^(?!An? |The |Inglenook)[A-Z].{8,78}[^.]$/);
  }
  expect(cask).toContain(
    `"${HOMEPAGE}/releases/download/v#{version}/Inglenook-#{version}-mac-arm64.dmg"`,
  );
  if (!has('ruby')) return ctx.skip('ruby is not installed: their syntax was not checked');
  for (const path of [`Formula/${name}.rb`, 'Casks/inglenook.rb'])
    expect(
      execFileSync('ruby', ['-wc', join(target, 'homebrew', path)], { encoding: 'utf8' }),
    ).toBe('Syntax OK\n');
});

test('a missing release file, and a page that is none, are reported with what to do', () => {
  const folder = temporaryDirectory();
  const { status, stderr } = make(folder);
  expect([status, stderr.match(/has no file of version/g)?.length]).toEqual([1, 4]);
  expect(make(folder, '')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('Set INGLENOOK_HOMEPAGE'),
  });
});

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { statSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stringify, parse } from 'yaml';
import { dirname, join } from 'node:path';
import { z } from 'zod';

/** A file of the release, as those who install it get it. */
interface ReleaseFile {
  readonly name: string;
  readonly url: string;
  readonly sha256: string;
  readonly path: string;
}

/** What all manifests say of a release. */
interface Release {
  /** Of the npm package. */
  readonly name: string;
  readonly product: string;
  readonly appId: string;
  readonly version: string;
  /** At most 80 characters, without an article: https://docs.brew.sh/Cask-Cookbook */
  readonly summary: string;
  readonly description: string;
  readonly license: string;
  readonly author: string;
  /** The repository's page. */
  readonly homepage: string;
}

/** Texts by the path that each is written to, below the folder of the manifests. */
type Manifests = Readonly<Record<string, string>>;

/** What Electron needs, by Arch's names: https://archlinux.org/packages/extra/x86_64/electron/ */
const DEPENDS = ['alsa-lib', 'at-spi2-core', 'gtk3', 'libnotify', 'libsecret', 'nss', 'xdg-utils'];

/** The desktop app from its deb package: https://wiki.archlinux.org/title/PKGBUILD and .SRCINFO */
function aur(release: Release, deb: ReleaseFile): Manifests {
  const { product, version, summary, homepage, license } = release;
  const name = `${product.toLowerCase()}-bin`;
  // A hyphen would begin the number of the packaging.
  const pkgver = version.replaceAll('-', '_');
  const list = DEPENDS.map((one) => `'${one}'`).join(' ');
  const pkgbuild = `pkgname=${name}
pkgver=${pkgver}
pkgrel=1
pkgdesc='${summary}'
arch=('x86_64')
url='${homepage}'
license=('${license}')
depends=(${list})
provides=('${product.toLowerCase()}')
options=('!strip')
source=('${deb.url}')
sha256sums=('${deb.sha256}')

package() {
  # makepkg has unpacked the outer archive.
  tar -xf data.tar.* -C "$pkgdir"
  ln -s /opt/${product}/inglenook-desktop "$pkgdir/usr/bin/inglenook-desktop"
  # Chromium's sandbox, where users may make no namespaces.
  chmod 4755 "$pkgdir/opt/${product}/chrome-sandbox"
}
`;
  const fields = [
    ['pkgdesc', summary],
    ['pkgver', pkgver],
    ['pkgrel', '1'],
    ['url', homepage],
    ['arch', 'x86_64'],
    ['license', license],
    ...DEPENDS.map((one) => ['depends', one]),
    ['provides', product.toLowerCase()],
    ['options', '!strip'],
    ['source', deb.url],
    ['sha256sums', deb.sha256],
  ];
  const lines = fields.map(([field, value]) => `\t${field} = ${value}`).join('\n');
  const srcinfo = `pkgbase = ${name}\n${lines}\n\npkgname = ${name}\n`;
  return { 'aur/PKGBUILD': pkgbuild, 'aur/.SRCINFO': srcinfo };
}

/** The index of a flat repository, to lie beside the package: https://wiki.debian.org/DebianRepository/Format */
function debian(release: Release, deb: ReleaseFile): Manifests {
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

const className = (name: string) =>
  name.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The gateway: https://docs.brew.sh/Node-for-Formula-Authors */
function formula(release: Release, tarball: ReleaseFile): Manifests {
  const { name, summary, homepage, license } = release;
  const text = `class ${className(name)} < Formula
  desc "${summary}"
  homepage "${homepage}"
  url "${tarball.url}"
  sha256 "${tarball.sha256}"
  license "${license}"

  depends_on "node"

  def install
    system "npm", "install", *std_npm_args
    bin.install_symlink libexec.glob("bin/*")
  end

  service do
    run [opt_bin/"inglenook", "start"]
    keep_alive true
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/inglenook --version")
  end
end
`;
  return { [`homebrew/Formula/${name}.rb`]: text };
}

/** The desktop app: https://docs.brew.sh/Cask-Cookbook */
function cask(release: Release, image: ReleaseFile): Manifests {
  const { product, version, summary, homepage, appId } = release;
  const token = product.toLowerCase();
  const arch = /-(arm64|x64)\.dmg$/.exec(image.name)?.[1];
  if (arch === undefined) throw new Error(`${image.name} does not name its architecture`);
  const text = `cask "${token}" do
  version "${version}"
  sha256 "${image.sha256}"

  url "${image.url.replaceAll(version, '#{version}')}"
  name "${product}"
  desc "${summary}"
  homepage "${homepage}"

  depends_on arch: :${arch === 'x64' ? 'x86_64' : arch}

  app "${product}.app"

  uninstall quit: "${appId}"

  zap trash: [
    "~/Library/Application Support/${product}",
    "~/Library/Preferences/${appId}.plist",
  ]
end
`;
  return { [`homebrew/Casks/${token}.rb`]: text };
}

const SCHEMA = '1.12.0';
const LOCALE = 'en-US';

/** Three files, by https://github.com/microsoft/winget-pkgs/tree/master/doc/manifest/schema/1.12.0 */
function winget(release: Release, installer: ReleaseFile): Manifests {
  const { product, version, homepage, author, license, summary, description } = release;
  const id = `${product}.${product}`;
  const architecture = /-(arm64|x64)\.exe$/.exec(installer.name)?.[1];
  if (architecture === undefined) throw new Error(`${installer.name} names no architecture`);
  const text = (type: string, fields: object) => {
    const head = { PackageIdentifier: id, PackageVersion: version };
    const foot = { ManifestType: type, ManifestVersion: SCHEMA };
    const schema = `https://aka.ms/winget-manifest.${type}.${SCHEMA}.schema.json`;
    return `# yaml-language-server: $schema=${schema}\n${stringify({ ...head, ...fields, ...foot })}`;
  };
  return {
    [`winget/${id}.yaml`]: text('version', { DefaultLocale: LOCALE }),
    [`winget/${id}.installer.yaml`]: text('installer', {
      InstallerType: 'nullsoft',
      Scope: 'user',
      UpgradeBehavior: 'install',
      Installers: [
        {
          Architecture: architecture,
          InstallerUrl: installer.url,
          InstallerSha256: installer.sha256.toUpperCase(),
        },
      ],
    }),
    [`winget/${id}.locale.${LOCALE}.yaml`]: text('defaultLocale', {
      PackageLocale: LOCALE,
      Publisher: author,
      PublisherSupportUrl: `${homepage}/issues`,
      PackageName: product,
      PackageUrl: homepage,
      License: license,
      ShortDescription: summary,
      Description: description,
      ReleaseNotesUrl: `${homepage}/releases/tag/v${version}`,
    }),
  };
}

// `npm run manifests [folder] [target]`: writes what package managers want to know of a release into dist/manifests, from
// package.json and the files of the release in the folder. INGLENOOK_HOMEPAGE is the repository's page.

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

const homepage = process.env['INGLENOOK_HOMEPAGE']?.replace(/\/+$/, '') ?? '';
if (!/^https:\/\/[^/]+\/[^/]+\/[^/]+$/.test(homepage)) {
  console.error(
    'Set INGLENOOK_HOMEPAGE to the page of the repository, such as https://github.com/owner/name.',
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

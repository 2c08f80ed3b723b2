import type { Manifests, Release, ReleaseFile } from './release.ts';

/** What Electron needs, by Arch's names: https://archlinux.org/packages/extra/x86_64/electron/ */
const DEPENDS = ['alsa-lib', 'at-spi2-core', 'gtk3', 'libnotify', 'libsecret', 'nss', 'xdg-utils'];

/** The desktop app from its deb package: https://wiki.archlinux.org/title/PKGBUILD and .SRCINFO */
export function aur(release: Release, deb: ReleaseFile): Manifests {
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
  ln -s /opt/${product}/switchyard-desktop "$pkgdir/usr/bin/switchyard-desktop"
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

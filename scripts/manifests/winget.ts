import { stringify } from 'yaml';
import type { Manifests, Release, ReleaseFile } from './release.ts';

const SCHEMA = '1.12.0';
const LOCALE = 'en-US';

/** Three files, by https://github.com/microsoft/winget-pkgs/tree/master/doc/manifest/schema/1.12.0 */
export function winget(release: Release, installer: ReleaseFile): Manifests {
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

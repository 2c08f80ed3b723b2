// `npm run dist`: packages the app for this system with electron-builder, which gets all further arguments. Signing and
// updates are set by variables; what is missing is left out, and said.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { NODE_24 } from './node-24.mjs';
import { ROOT, run } from './tree.mjs';

const { env } = process;
const has = (...names) => names.every((name) => (env[name] ?? '') !== '');

/** For Azure's signing service; a key in a file is no longer sold to anybody. */
const AZURE = {
  endpoint: 'AZURE_SIGNING_ENDPOINT',
  codeSigningAccountName: 'AZURE_SIGNING_ACCOUNT',
  certificateProfileName: 'AZURE_SIGNING_PROFILE',
  publisherName: 'AZURE_SIGNING_PUBLISHER',
};

/** What is said, and what electron-builder is told besides its own variables. */
function plan(platform) {
  const said = [];
  const args = ['--publish', 'never'];
  let canUpdate = true;
  if (platform === 'darwin') {
    if (!has('CSC_LINK') && !has('CSC_NAME')) {
      // Without any signature macOS kills the app, because the fuses are set in a page that Electron's own covers.
      args.push('-c.mac.identity=-');
      // An update must have the signature of the app that it replaces.
      canUpdate = false;
      said.push(
        'Signed ad hoc: it opens after System Settings > Privacy & Security > Open Anyway. Set CSC_LINK and CSC_KEY_PASSWORD, or CSC_NAME for a key in the keychain.',
      );
    }
    const canNotarize =
      has('APPLE_API_KEY', 'APPLE_API_KEY_ID', 'APPLE_API_ISSUER') ||
      has('APPLE_ID', 'APPLE_APP_SPECIFIC_PASSWORD', 'APPLE_TEAM_ID');
    if (!canNotarize)
      said.push(
        'Not notarised: set APPLE_API_KEY (the path of the key), APPLE_API_KEY_ID and APPLE_API_ISSUER.',
      );
  }
  if (platform === 'win32') {
    const names = Object.values(AZURE);
    if (has(...names)) {
      const options = Object.entries(AZURE);
      args.push(...options.map(([key, name]) => `-c.win.azureSignOptions.${key}=${env[name]}`));
    } else if (!has('WIN_CSC_LINK') && !has('CSC_LINK'))
      said.push(`Not signed: set ${names.join(', ')} and Azure's own variables, or WIN_CSC_LINK.`);
  }
  if (platform === 'linux') {
    if (has('INGLENOOK_HOMEPAGE')) args.push(`-c.extraMetadata.homepage=${env.INGLENOOK_HOMEPAGE}`);
    else said.push('The packages name no real page: set INGLENOOK_HOMEPAGE.');
    if (spawnSync('rpmbuild', ['--version']).status !== 0) {
      args.push('--linux', 'deb');
      said.push('No rpm package: rpmbuild is not installed.');
    }
  }
  if (!has('INGLENOOK_UPDATE_URL'))
    said.push(
      'No updates: set INGLENOOK_UPDATE_URL to the folder that the files of a release are put in.',
    );
  else if (canUpdate)
    args.push('-c.publish.provider=generic', `-c.publish.url=${env.INGLENOOK_UPDATE_URL}`);
  return { said, args };
}

const [first, ...others] = process.argv.slice(2);
const isPlan = first === '--plan';
const { said, args } = plan(isPlan ? others[0] : process.platform);
for (const sentence of said) console.log(sentence);
if (isPlan) console.log(['electron-builder', ...args].join(' '));
else {
  const builder = join(ROOT, 'node_modules/electron-builder/cli.js');
  const { code } = await run(NODE_24, [builder, ...args, ...process.argv.slice(2)]);
  process.exitCode = code ?? 1;
}

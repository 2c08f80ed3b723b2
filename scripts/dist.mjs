// `npm run dist`: packages the app for this system with electron-builder, which gets all further arguments. Signing and
// updates are set by variables; what is missing is left out, and said.
import { join } from 'node:path';
import { NODE_24, ROOT, run } from './tree.mjs';

const has = (...names) => names.every((name) => (process.env[name] ?? '') !== '');

/** @returns {string[]} what this build will not have, one sentence each */
function missing(platform) {
  const said = [];
  if (platform === 'darwin' && !has('CSC_LINK') && !has('CSC_NAME')) {
    said.push(
      'Not signed: set CSC_LINK and CSC_KEY_PASSWORD, or CSC_NAME for a key in the keychain.',
    );
  }
  const canNotarize =
    has('APPLE_API_KEY', 'APPLE_API_KEY_ID', 'APPLE_API_ISSUER') ||
    has('APPLE_ID', 'APPLE_APP_SPECIFIC_PASSWORD', 'APPLE_TEAM_ID');
  if (platform === 'darwin' && !canNotarize) {
    said.push('Not notarised: set APPLE_API_KEY, APPLE_API_KEY_ID and APPLE_API_ISSUER.');
  }
  if (platform === 'win32' && !has('WIN_CSC_LINK') && !has('CSC_LINK')) {
    said.push('Not signed: set WIN_CSC_LINK and WIN_CSC_KEY_PASSWORD.');
  }
  if (platform === 'linux' && !has('INGLENOOK_HOMEPAGE')) {
    said.push('The deb and rpm packages name no real page: set INGLENOOK_HOMEPAGE.');
  }
  if (!has('INGLENOOK_UPDATE_URL')) {
    said.push(
      'No updates: set INGLENOOK_UPDATE_URL to the folder that the files of a release are put in.',
    );
  }
  return said;
}

function builderArguments() {
  const { INGLENOOK_UPDATE_URL: url, INGLENOOK_HOMEPAGE: homepage } = process.env;
  return [
    '--publish',
    'never',
    ...(url ? ['-c.publish.provider=generic', `-c.publish.url=${url}`] : []),
    ...(homepage ? [`-c.extraMetadata.homepage=${homepage}`] : []),
  ];
}

const [first, ...others] = process.argv.slice(2);
const isPlan = first === '--plan';
for (const sentence of missing(isPlan ? others[0] : process.platform)) console.log(sentence);
if (isPlan) console.log(['electron-builder', ...builderArguments()].join(' '));
else {
  const builder = join(ROOT, 'node_modules/electron-builder/cli.js');
  const args = [builder, ...builderArguments(), ...process.argv.slice(2)];
  process.exitCode = (await run(NODE_24, args)).code ?? 1;
}

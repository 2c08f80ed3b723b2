// `npm run pack [folder]`: writes the npm package, the same that a gateway hands out to other machines.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createOwnPackage } from '../main/app/own-package.ts';

const [folder = '.'] = process.argv.slice(2);
const packed = await createOwnPackage()();
if (packed.kind === 'unavailable') {
  console.error(packed.why);
  process.exit(1);
}
const file = join(folder, `${packed.name}-${packed.version}.tgz`);
mkdirSync(folder, { recursive: true });
writeFileSync(file, packed.tarball);
console.log(file);

import { join } from 'node:path';

/** The folder of package.json; sources and bundles (`dist/node`, `dist/desktop`) lie two levels below it. */
export const PACKAGE_ROOT = join(import.meta.dirname, '../..');

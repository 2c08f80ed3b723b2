import { join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };

/** The directory of package.json; sources and bundles (`dist/node`, `dist/desktop`) lie two levels below it. */
export const PACKAGE_ROOT = join(import.meta.dirname, '../..');

export const VERSION: string = packageJson.version;

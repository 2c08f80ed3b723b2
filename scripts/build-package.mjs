// Builds what a gateway that runs from this checkout hands out to other machines.
import { build } from './build.mjs';

process.exitCode = (await build(['window', 'package'])) ? 0 : 1;

// Vitest runs this before tests of whole programs: those start what was built, as an installation does.
import { build } from './build.mjs';

export async function setup() {
  if (!(await build(['window', 'package']))) throw new Error('There is no program to start.');
}

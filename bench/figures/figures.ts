/**
 * `npm run figures`: takes what the last runs of the bench have brought to docs/figures/, and writes the tables and
 * pictures of docs/performance.md from there.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import type { GrowthFigures } from '../growth/growth.ts';
import { keptResult, RESULT_NAMES, type Result, type ResultName } from '../kit/results.ts';
import { picturesOf, sectionOf, withSection } from './pages.ts';

const DOCS = join(import.meta.dirname, '../../docs');
const PAGE = join(DOCS, 'performance.md');
const resultFile = (name: ResultName) => join(DOCS, 'figures', `${name}.json`);

/** docs/performance.md as it should be. */
export async function performancePage(): Promise<string> {
  const page = RESULT_NAMES.reduce(
    (text, name) =>
      withSection(text, name, sectionOf(name, readFileSync(resultFile(name), 'utf8'))),
    readFileSync(PAGE, 'utf8'),
  );
  return format(page, { ...(await resolveConfig(PAGE)), parser: 'markdown' });
}

/** The pictures as they should be, by their path in docs/. */
export function performancePictures(): Readonly<Record<string, string>> {
  const result = JSON.parse(readFileSync(resultFile('growth'), 'utf8')) as Result<GrowthFigures>;
  return Object.fromEntries(
    Object.entries(picturesOf(result)).map(([name, svg]) => [`images/${name}`, svg]),
  );
}

if (import.meta.main) {
  mkdirSync(join(DOCS, 'figures'), { recursive: true });
  for (const name of RESULT_NAMES) {
    const kept = keptResult(name);
    if (kept !== null) writeFileSync(resultFile(name), await format(kept, { parser: 'json' }));
    else if (!existsSync(resultFile(name))) throw new Error(`first: npm run bench, for ${name}`);
  }
  for (const [path, svg] of Object.entries(performancePictures())) {
    writeFileSync(join(DOCS, path), svg);
  }
  writeFileSync(PAGE, await performancePage());
}

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

/** The exported types of some folders: name and file. */
function typesOf(folders: string): (readonly [name: string, file: string])[] {
  return globSync(`${folders}/**/*.{ts,tsx}`, { cwd: ROOT }).flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8');
    const declared = text.matchAll(/^export (?:interface|type|class|enum) (\w+)/gm);
    return [...declared].map(([, name = '']) => [name, file] as const);
  });
}

test.each(['{main,shared}', '{renderer,shared}'])(
  'no two exported types of %s have the same name',
  (folders) => {
    const files = Map.groupBy(typesOf(folders), ([name]) => name);
    const shared = [...files.values()].filter((places) => places.length > 1);
    expect(files.size).toBeGreaterThan(100);
    expect(shared.map((places) => places.map((place) => place.join(' in ')))).toEqual([]);
  },
);

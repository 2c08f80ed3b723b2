import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The text of a fixture; their origin is in fixtures/README.md. */
export function fixture(name: string): string {
  return readFileSync(join(import.meta.dirname, 'fixtures', name), 'utf8');
}

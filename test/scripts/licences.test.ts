import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { z } from 'zod';

const ROOT = join(import.meta.dirname, '../..');
const read = (name: string): unknown => JSON.parse(readFileSync(join(ROOT, name), 'utf8'));

const manifest = z
  .object({
    dependencies: z.record(z.string(), z.string()),
    allowScripts: z.record(z.string(), z.boolean()),
    scripts: z.record(z.string(), z.string()),
  })
  .parse(read('package.json'));

const { packages } = z
  .object({
    packages: z.record(
      z.string(),
      z.object({
        dev: z.boolean().default(false),
        devOptional: z.boolean().default(false),
        optional: z.boolean().default(false),
        hasInstallScript: z.boolean().default(false),
      }),
    ),
  })
  .parse(read('package-lock.json'));

const production = Object.entries(packages).filter(
  ([path, { dev, devOptional, optional }]) => path !== '' && !dev && !devOptional && !optional,
);

// The last two are those of argparse and sax.
const PERMISSIVE =
  'MIT ISC BSD-2-Clause BSD-3-Clause Apache-2.0 0BSD Python-2.0 BlueOak-1.0.0'.split(' ');

describe('the bill of materials of a release', () => {
  const folder = mkdtempSync(join(tmpdir(), 'inglenook-licences-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  execFileSync(process.execPath, ['scripts/licences.ts', folder], { cwd: ROOT });
  const list = readFileSync(join(folder, 'LICENCES.txt'), 'utf8');
  const bill = z
    .object({
      bomFormat: z.literal('CycloneDX'),
      metadata: z.object({ component: z.object({ name: z.literal('inglenook') }) }),
      components: z.array(
        z.object({
          'bom-ref': z.string(),
          purl: z.string(),
          hashes: z.array(z.object({ alg: z.string() })).min(1),
          licenses: z.array(z.object({ license: z.object({ id: z.string() }) })).min(1),
        }),
      ),
      dependencies: z.array(z.object({ ref: z.string(), dependsOn: z.array(z.string()) })),
    })
    .parse(JSON.parse(readFileSync(join(folder, 'sbom.cdx.json'), 'utf8')));
  const listed = bill.components.map((component) => component['bom-ref']);

  test('the bill of materials of a release holds what the build adds, the native package with what it needs, and Electron', () => {
    const names = new Set(listed.map((ref) => ref.slice(0, ref.lastIndexOf('@'))));
    for (const name of ['better-sqlite3', 'node-addon-api', 'express', 'scheduler', 'electron'])
      expect(names).toContain(name);
    for (const name of ['vite', 'vitest', 'playwright-core']) expect(names).not.toContain(name);
    const known = new Set(listed);
    for (const built of ['node', 'window']) {
      const licences = readFileSync(join(ROOT, 'dist', built, 'licenses.md'), 'utf8');
      const inside = [...licences.matchAll(/^## (\S+) - (\S+)/gm)].map(([, n, v]) => `${n}@${v}`);
      expect(inside.length).toBeGreaterThan(2);
      expect(inside.filter((ref) => !known.has(ref))).toEqual([]);
    }
    const needed = bill.dependencies.flatMap(({ dependsOn }) => dependsOn);
    expect(needed.filter((ref) => !known.has(ref))).toEqual([]);
  });

  test('the list of licences has each package of the bill of materials, and all licences are permissive', () => {
    for (const { 'bom-ref': ref, licenses } of bill.components) {
      const [id] = licenses.map(({ license }) => license.id);
      expect(PERMISSIVE).toContain(id);
      expect(list).toContain(`\n${ref}: ${id}\n`);
    }
    expect(list.match(/Permission (is hereby granted|to use, copy)/g)?.length).toBeGreaterThan(50);
  });

  test('the bill of materials and the licences are written before a release is packed, and packed with it', () => {
    expect(manifest.scripts['dist']).toMatch(/npm run licences && node scripts\/dist\.mjs$/);
    const packing = readFileSync(join(ROOT, 'electron-builder.yml'), 'utf8');
    expect(packing).toMatch(/^extraResources:\n {2}- from: dist\/licences\n {4}to: licences$/m);
  });
});

test('no production dependency runs a script when it is installed, beyond those that package.json names', () => {
  const allowed = new Set(Object.keys(manifest.allowScripts));
  const scripted = production
    .map(([path, { hasInstallScript }]) => {
      const { scripts = {} } = z
        .object({ scripts: z.record(z.string(), z.unknown()).optional() })
        .parse(read(`${path}/package.json`));
      const isScripted = ['preinstall', 'install', 'postinstall'].some((name) => name in scripts);
      return {
        name: path.replace(/^.*node_modules\//, ''),
        isScripted: hasInstallScript || isScripted,
      };
    })
    .filter(({ name, isScripted }) => isScripted && !allowed.has(name));
  expect(scripted).toEqual([]);
  expect(production.length).toBeGreaterThan(Object.keys(manifest.dependencies).length);
});

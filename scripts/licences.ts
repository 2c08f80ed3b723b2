import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

// `npm run licences [folder]`: writes what a release must bring along, the licences of all that is in it and its
// software bill of materials (CycloneDX, from `npm sbom`). electron-builder packs the folder.

const ROOT = join(import.meta.dirname, '..');
const FOLDER = process.argv[2] ?? join(ROOT, 'dist/licences');

/** What the builds put into the program, the window and the desktop app, as `name@version`. */
function builtIn(): readonly string[] {
  const lists = ['node', 'window', 'desktop'].map((built) =>
    join(ROOT, 'dist', built, 'licenses.md'),
  );
  return lists
    .filter((path) => existsSync(path))
    .flatMap((path) => {
      const text = readFileSync(path, 'utf8');
      return [...text.matchAll(/^## (\S+) - (\S+)/gm)].map(
        ([, name, version]) => `${name}@${version}`,
      );
    });
}

/** Not built in, because it is native: shipped with what it needs. */
const NATIVE = 'better-sqlite3';
/** Shipped itself, without the packages that fetch it. */
const RUNTIME = 'electron';

const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({ version: z.string().optional(), license: z.string().optional() }),
  ),
});
const componentSchema = z.looseObject({ 'bom-ref': z.string(), name: z.string() });
const sbomSchema = z.looseObject({
  metadata: z.looseObject({ component: z.looseObject({ 'bom-ref': z.string() }) }),
  components: z.array(componentSchema),
  dependencies: z.array(z.object({ ref: z.string(), dependsOn: z.array(z.string()).default([]) })),
});
type Sbom = z.infer<typeof sbomSchema>;

const readRoot = (name: string): unknown => JSON.parse(readFileSync(join(ROOT, name), 'utf8'));

/** The bill of everything, development included. */
function wholeSbom(): Sbom {
  const args = ['sbom', '--sbom-format=cyclonedx', '--package-lock-only', '--loglevel=error'];
  const text = execFileSync('npm', args, {
    shell: process.platform === 'win32',
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  return sbomSchema.parse(JSON.parse(text));
}

/** The refs of what is in a release. */
function shippedRefs({ components, dependencies }: Sbom): ReadonlySet<string> {
  const needs = new Map(dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
  const refsOf = (name: string) =>
    components.filter((each) => fullName(each) === name).map((each) => each['bom-ref']);
  const shipped = new Set([...refsOf(RUNTIME), ...builtIn()]);
  const visit = (ref: string): void => {
    if (shipped.has(ref)) return;
    shipped.add(ref);
    for (const next of needs.get(ref) ?? []) visit(next);
  };
  for (const ref of refsOf(NATIVE)) visit(ref);
  return shipped;
}

/** `name@version` without its version. */
const fullName = (component: { readonly 'bom-ref': string }) =>
  component['bom-ref'].slice(0, component['bom-ref'].lastIndexOf('@'));

function shippedPart(whole: Sbom, shipped: ReadonlySet<string>): Sbom {
  const { component } = whole.metadata;
  const own = component['bom-ref'];
  return {
    ...whole,
    // npm names the checkout's folder.
    metadata: {
      ...whole.metadata,
      component: { ...component, name: own.slice(0, own.lastIndexOf('@')) },
    },
    components: whole.components
      .filter((each) => shipped.has(each['bom-ref']))
      .map((each) => ({ ...each, scope: 'required', properties: [] })),
    dependencies: whole.dependencies
      .filter(({ ref }) => ref === own || shipped.has(ref))
      .map(({ ref, dependsOn }) => ({
        ref,
        dependsOn: dependsOn.filter((each) => shipped.has(each)),
      })),
  };
}

/** One section a package: name, version, licence, and its text. */
function licenceList(shipped: ReadonlySet<string>): string {
  const { packages } = lockSchema.parse(readRoot('package-lock.json'));
  const sections = Object.entries(packages).flatMap(([path, { version, license }]) => {
    const ref = `${path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)}@${version ?? ''}`;
    if (!shipped.has(ref)) return [];
    return [`${ref}: ${license ?? 'licence not stated'}\n\n${licenceText(join(ROOT, path))}`];
  });
  const line = `\n\n${'-'.repeat(100)}\n\n`;
  return `${['Inglenook contains these packages.', ...sections.toSorted()].join(line)}\n`;
}

function licenceText(folder: string): string {
  const names = readdirSync(folder).filter((name) =>
    /^(licen[cs]e|copying|notice)(\.(md|txt))?$/i.test(name),
  );
  const texts = names.map((name) => readFileSync(join(folder, name), 'utf8').trim());
  return texts.length === 0 ? '(The package brings no text of its licence.)' : texts.join('\n\n');
}

const whole = wholeSbom();
const shipped = shippedRefs(whole);
mkdirSync(FOLDER, { recursive: true });
writeFileSync(join(FOLDER, 'LICENCES.txt'), licenceList(shipped));
writeFileSync(
  join(FOLDER, 'sbom.cdx.json'),
  `${JSON.stringify(shippedPart(whole, shipped), null, 2)}\n`,
);
console.log(`${shipped.size} packages: ${FOLDER}`);

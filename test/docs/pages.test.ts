import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { agentRoutes } from '../../main/agent/routes.ts';
import { ENDPOINT_ROUTES } from '../../main/gateway/api/routes.ts';
import { cliPage } from '../../scripts/cli-page.ts';
import { configurationPage } from '../../scripts/docs.ts';

const ROOT = join(import.meta.dirname, '../..');
const PAGES = globSync(['*.md', 'docs/**/*.md'], { cwd: ROOT });

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** The anchors of a page as GitHub makes them of its headings. */
function anchorsOf(page: string): readonly string[] {
  return [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** Why a link of a page leads nowhere; null where it leads somewhere. */
function deadEnd(page: string, link: string): string | null {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : relative(ROOT, join(ROOT, dirname(page), path));
  if (globSync(target, { cwd: ROOT }).length === 0) return `${page}: there is no ${target}`;
  if (anchor === undefined || anchorsOf(target).includes(anchor)) return null;
  return `${page}: ${target} has no heading #${anchor}`;
}

test('docs/reference/configuration.md is what `npm run docs` makes of the table of settings', async () => {
  expect(read('docs/reference/configuration.md')).toBe(await configurationPage());
});

test('docs/reference/cli.md is what `npm run docs` makes of the table of commands', async () => {
  expect(read('docs/reference/cli.md')).toBe(await cliPage());
});

test.each(PAGES)('every link and picture of %s leads to a file and a heading', (page) => {
  const links = [...read(page).matchAll(/\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g)]
    .map(([, link, picture]) => link ?? picture ?? '')
    .filter((link) => !/^https?:/.test(link));
  expect(links.map((link) => deadEnd(page, link)).filter((why) => why !== null)).toEqual([]);
});

test('every page that a comment cites is there, with its heading', () => {
  const places = '{main,shared,renderer,bench,test}/**/*.{ts,tsx}';
  const files = globSync(places, { cwd: ROOT, exclude: ['**/node_modules'] });
  const dead = files.flatMap((file) =>
    [...read(file).matchAll(/(?<![./])docs\/[\w/-]+\.md(?:#[\w-]+)?/g)]
      .map(([cited]) => deadEnd('README.md', cited))
      .filter((why) => why !== null)
      .map((why) => `${file}, ${why}`),
  );
  expect(dead).toEqual([]);
});

test('README.md is read in five minutes: at most 120 lines', () => {
  expect(read('README.md').split('\n').length).toBeLessThanOrEqual(121);
});

test('no page and no text of the program sends anybody to the npm package that only shares the name', () => {
  const places = [
    '{main,shared,renderer,scripts,bench}/**/*.{ts,tsx,mjs,cjs}',
    'deploy/**/*.{yaml,md}',
  ];
  const files = [...PAGES, ...globSync(places, { cwd: ROOT })];
  expect(files.length).toBeGreaterThan(400);
  const fetching = /\b(npx|npm (i|install|exec|add))( -\S+)* switchyard(?![\w-])/;
  expect(fetching.test('run npx --yes switchyard join')).toBe(true);
  expect(files.filter((file) => fetching.test(read(file)))).toEqual([]);
});

test('each promise of docs/understand/security.md names a test that is there, by its own words where it quotes', () => {
  const rows = [
    ...read('docs/understand/security.md').matchAll(/^\| (.+?) +\| `(test\/[^`]+)` +\|$/gm),
  ];
  expect(rows.length).toBeGreaterThan(60);
  const broken = rows.filter(([, promise = '', path = '']) => {
    const laws = globSync(path, { cwd: ROOT }).map(read).join('').replaceAll("\\'", "'");
    const quoted = [...promise.matchAll(/"([^"]+)"/g)].map(([, words = '']) => words);
    return laws === '' || quoted.some((words) => !laws.includes(words));
  });
  expect(broken.map(([row]) => row)).toEqual([]);
});

test('docs/reference/http-api.md lists every route, with who may use it', () => {
  const table = read('main/gateway/api/routes.ts') + read('main/registry/routes.ts');
  const rows = [...table.matchAll(/ route\('(\w+)', (\[[^\]]+\]|'[^']+'), '(\w+)'/g)].flatMap(
    ([, method = '', list = '', access = '']) =>
      [...list.matchAll(/'([^']+)'/g)].map(([, path = '']) => ({ method, path, access })),
  );
  for (const { method, paths, access } of agentRoutes(null))
    for (const path of paths) rows.push({ method, path, access });
  expect(rows).toContainEqual({ method: 'GET', path: '/healthz', access: 'anyone' });
  expect(rows).toContainEqual({ method: 'GET', path: '/api/v1/providers', access: 'callers' });
  expect(rows.length).toBeGreaterThan(20);
  for (const { endpoint, method, access } of ENDPOINT_ROUTES) {
    for (const path of endpoint.paths) rows.push({ method, path, access });
  }
  const page = read('docs/reference/http-api.md').split('\n');
  const isListed = ({ method, path, access }: (typeof rows)[number]) =>
    page.some(
      (line) =>
        line.includes(`\`${method} ${path}\``) && new RegExp(`\\| ${access} +\\|`).test(line),
    );
  const paths = new Set(rows.map(({ path }) => path));
  const isTwin = ({ path }: (typeof rows)[number]) =>
    path.startsWith('/api/v1/') && paths.has(path.replace('/api', ''));
  expect(page.join('\n')).toContain('also answer under `/api/v1/`');
  expect(rows.filter((row) => !isListed(row) && !isTwin(row))).toEqual([]);
});

test('the documentation lists every code of an error', () => {
  const codes = [...read('main/gateway/http/errors.ts').matchAll(/ErrorCode =\n([^;]+);/g)].flatMap(
    ([, union = '']) => [...union.matchAll(/'(\w+)'/g)].map(([, code = '']) => code),
  );
  expect(codes).toContain('no_upstream');
  const pages = read('docs/reference/http-api.md') + read('docs/reference/agent-protocol.md');
  expect(codes.filter((code) => !pages.includes(code))).toEqual([]);
});

test('every file and folder that a page names in code style is there', () => {
  const dead = PAGES.filter((page) => page !== 'CHANGELOG.md').flatMap((page) =>
    [
      ...read(page).matchAll(
        /`((?:main|gateway|agent|registry|pool|config|shared|test|scripts|renderer|bench)\/[\w./-]+)`/g,
      ),
    ]
      .map(([, path = '']) =>
        /^(main|shared|test|scripts|renderer|bench)\//.test(path) ? path : `main/${path}`,
      )
      .filter((path) => globSync(path.replace(/\/$/, ''), { cwd: ROOT }).length === 0)
      .map((path) => `${page}: ${path}`),
  );
  expect(dead).toEqual([]);
});

test('each term of docs/contributing/glossary.md stands once and says where it is at home', () => {
  const rows = [
    ...read('docs/contributing/glossary.md').matchAll(/^\| (.+?) +\| .+? +\| (.*?) *\|$/gm),
  ].filter(([, term = '']) => term !== 'term' && !/^-+$/.test(term));
  expect(rows.length).toBeGreaterThan(60);
  const terms = rows.map(([, term]) => term);
  expect(terms.filter((term, at) => terms.indexOf(term) !== at)).toEqual([]);
  const isPath = (place: string) => /^`[a-z]+\/[\w./-]*`$/.test(place);
  expect(rows.filter(([, , place = '']) => !isPath(place)).map(([row]) => row)).toEqual([]);
});

test('no comment cites a document that is not in the repository', () => {
  const files = globSync('{main,shared,renderer,bench,test,scripts}/**/*.{ts,tsx,mjs}', {
    cwd: ROOT,
  });
  const citing = files.filter(
    (file) =>
      file !== 'test/docs/pages.test.ts' && /\b(design|interface) \d|\(research:/i.test(read(file)),
  );
  expect(citing).toEqual([]);
});

import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { agentRoutes } from '../../main/agent/routes.ts';
import { ENDPOINTS } from '../../main/gateway/protocols/endpoints.ts';
import { cliPage } from '../../scripts/cli-page.ts';
import { configurationPage } from '../../scripts/docs.ts';

const ROOT = join(import.meta.dirname, '../..');
const PAGES = globSync(['*.md', 'docs/**/*.md'], { cwd: ROOT, exclude: ['**/node_modules/**'] });

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

test('every page that a comment cites exists, with its heading', () => {
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

test('README.md has at most 130 lines', () => {
  expect(read('README.md').split('\n').length).toBeLessThanOrEqual(131);
});

test('no page or text of the program sends anybody to the npm package that only shares the name', () => {
  const places = [
    '{main,shared,renderer,scripts,bench}/**/*.{ts,tsx,mjs,cjs}',
    'deploy/**/*.{yaml,md}',
  ];
  const files = [...PAGES, ...globSync(places, { cwd: ROOT })];
  expect(files.length).toBeGreaterThan(400);
  const fetching = /\b(npx|npm (i|install|exec|add))( -\S+)* inglenook(?![\w-])/;
  expect(fetching.test('run npx --yes inglenook join')).toBe(true);
  expect(files.filter((file) => fetching.test(read(file)))).toEqual([]);
});

test('docs/reference/http-api.md and internal-routes.md list every route, with who may use it', () => {
  const tables = globSync('main/{gateway/api,registry}/*.ts', { cwd: ROOT }).map(read).join('');
  const isRoute = /oute\(\s*'(\w+)',\s*(\[[^\]]+\]|'[^']+'),\s*'(\w+)'/g;
  const rows = [...tables.matchAll(isRoute)].flatMap(([, method = '', list = '', access = '']) =>
    [...list.matchAll(/'([^']+)'/g)].map(([, path = '']) => ({ method, path, access })),
  );
  for (const { method, paths, access } of agentRoutes(null))
    for (const path of paths) rows.push({ method, path, access });
  expect(rows).toContainEqual({ method: 'GET', path: '/api/v1/providers', access: 'callers' });
  expect(rows.length).toBeGreaterThan(20);
  for (const path of ENDPOINTS.flatMap(({ paths: all }) => all))
    rows.push({ method: 'POST', path, access: 'callers' });
  const pages = ['docs/reference/http-api.md', 'docs/contributing/internal-routes.md'];
  const lines = pages.flatMap((page) => read(page).split('\n'));
  const isListed = ({ method, path, access }: (typeof rows)[number]) => {
    const shown = `\`${method} ${path.replaceAll(/[:*](\w+)/g, '{$1}')}\``;
    return lines.some((line) => line.includes(shown) && line.includes(` (${access}): `));
  };
  const paths = new Set(rows.map(({ path }) => path));
  const isTwin = ({ path }: (typeof rows)[number]) =>
    path.startsWith('/api/v1/') && paths.has(path.replace('/api', ''));
  expect(lines.join('\n')).toContain('also answer under `/api/v1/`');
  expect(rows.filter((row) => !isListed(row) && !isTwin(row))).toEqual([]);
});

/** The codes of the unions that a file declares. */
function codesOf(path: string, union: RegExp): readonly string[] {
  return [...read(path).matchAll(union)].flatMap(([, codes = '']) =>
    [...codes.matchAll(/'(\w+)'/g)].map(([, code = '']) => code),
  );
}

test.each([
  [
    'docs/reference/errors.md',
    'that an app, a script or a command gets',
    codesOf('shared/errors.ts', /(?:Server|Upstream|Gateway)ErrorCode =\s([^;]+);/g),
    ['no_upstream', 'not_shared', 'body_too_large', 'too_many_enrollments'],
  ],
  [
    'docs/contributing/agent-protocol.md',
    'that only an agent gets or sends',
    [
      ...codesOf('shared/errors.ts', /AgentMessageErrorCode =\s([^;]+);/g),
      ...codesOf('main/agent/server/errors.ts', /readonly code:\n([^;]+);/g),
    ],
    ['clock_skew', 'no_engine'],
  ],
])('%s has each code %s once, with its cause and its fix', (page, _who, codes, some) => {
  expect(codes).toEqual(expect.arrayContaining(some));
  const row = /^\| [\d, ]+ `(\w+)`(?: ↻)? +\| \S.* \| \S.* \|$/gm;
  const rows = [...read(page).matchAll(row)].map(([, code = '']) => code);
  expect(rows.toSorted()).toEqual([...new Set(codes)].toSorted());
});

test('each of at most twenty decisions has its four parts and a line in the index', () => {
  const folder = 'docs/contributing/decisions';
  const files = globSync('*.md', { cwd: join(ROOT, folder) }).filter(
    (name) => name !== 'README.md',
  );
  expect(files.length).toBeLessThanOrEqual(20);
  const index = read(`${folder}/README.md`);
  const parts = ['Question', 'Choice', 'Reason', 'What would change it'];
  const isWhole = (page: string) =>
    parts.every((part) => page.includes(`**${part}.**`) || page.includes(`\n## ${part}\n`));
  expect(files.filter((name) => !index.includes(`(${name})`))).toEqual([]);
  expect(files.filter((name) => !isWhole(read(`${folder}/${name}`)))).toEqual([]);
});

test('every file and folder that a page names in code style exists', () => {
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

test('the glossary has at most forty terms, each once, with its home in the code', () => {
  const rows = [
    ...read('docs/contributing/glossary.md').matchAll(/^\| (.+?) +\| .+? +\| (.*?) *\|$/gm),
  ].filter(([, term = '']) => term !== 'term' && !/^-+$/.test(term));
  expect(rows.length).toBeGreaterThan(20);
  expect(rows.length).toBeLessThanOrEqual(40);
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

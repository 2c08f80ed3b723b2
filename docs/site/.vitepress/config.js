// The docs site: the pages of docs/ as they are, with the index as its sidebar.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const DOCS = join(import.meta.dirname, '../..');

/** The shelves of docs/README.md, as groups of links. */
function sidebar() {
  const groups = [];
  for (const line of readFileSync(join(DOCS, 'README.md'), 'utf8').split('\n')) {
    const heading = /^## (.+)/.exec(line)?.[1];
    if (heading !== undefined)
      groups.push({ text: heading, collapsed: heading === 'Contributing', items: [] });
    const [, text, page] = /^- \[(.+?)\]\((?!\.\.)(.+?)\.md\)/.exec(line) ?? [];
    if (page !== undefined) groups.at(-1)?.items.push({ text, link: `/${page}` });
  }
  return groups;
}

export default {
  title: 'Inglenook',
  description: "Use your own GPU in your AI apps. When it can't answer, an API you chose does.",
  srcDir: DOCS,
  srcExclude: ['site/**'],
  outDir: join(DOCS, '../dist/site'),
  cacheDir: join(DOCS, '../.cache/vitepress'),
  rewrites: {
    'README.md': 'index.md',
    'contributing/decisions/README.md': 'contributing/decisions/index.md',
  },
  cleanUrls: true,
  // Pages at the root of the repository are not part of the site.
  ignoreDeadLinks: [
    /^https?:\/\/localhost/,
    /(CONTRIBUTING|CHANGELOG|SECURITY|LICENSE)/,
    /^\.\/.*README$/,
  ],
  themeConfig: {
    sidebar: sidebar(),
    outline: [2, 3],
    search: { provider: 'local' },
  },
};

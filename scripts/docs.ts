import { HOSTED_IDS } from '#shared/ids.ts';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { shownDefault } from '../main/config/load.ts';
import { ENTRIES, type Entry, ENV_PREFIX } from '../main/config/schema.ts';
import { CLI_PAGE, cliPage } from './cli-page.ts';

// `npm run docs`: writes docs/reference/configuration.md and docs/reference/cli.md from the tables of settings and commands.

const PAGE = join(import.meta.dirname, '../docs/reference/configuration.md');

/** Where a section begins its own heading; sections that only differ in their prefix share one. */
const SECTIONS: readonly (readonly [heading: string, ...sections: string[]])[] = [
  ['Your GPUs', 'local'],
  ['Hosted APIs and the rented GPU', ...HOSTED_IDS, 'ondemand'],
  ['Circuits', 'circuit'],
  ['Routing', 'routing'],
  ['Share this machine', 'agent'],
  ['Gateway', 'gateway'],
];

/** docs/reference/configuration.md as it should be. */
export async function configurationPage(): Promise<string> {
  const listed = SECTIONS.flatMap(([, ...sections]) => sections);
  const missing = ENTRIES.find(({ section }) => !listed.includes(section));
  if (missing !== undefined) throw new Error(`no heading in docs/ for ${missing.section}`);
  const tables = SECTIONS.map(([heading, ...sections]) => `## ${heading}\n\n${tableOf(sections)}`);
  return format(`${INTRODUCTION}\n${tables.join('\n\n')}\n`, {
    ...(await resolveConfig(PAGE)),
    parser: 'markdown',
  });
}

const INTRODUCTION = `<!-- Written by \`npm run docs\` from the table of settings; changes here are overwritten. -->

# Configuration

A setting can be set in three places. The first wins:

1. its environment variable;
2. \`settings.json\` in the data directory, or \`secrets.json\` for keys and headers; the dashboard and \`inglenook set\` write both;
3. the default.

An invalid value never falls back to the default: Inglenook refuses to start and tells you what is allowed. Changes made while it runs apply to
the next request, except where the tables say "restart". Every secret can also come from a file: add \`_FILE\` to its variable.
Each row below has the path of a setting and its environment variable. A source is an [upstream](../understand/words.md).

\`\`\`sh
inglenook get                             # all settings, and what set them
inglenook set agent.onlyWhenIdle true
inglenook set agent.onlyWhenIdle default
\`\`\`

**Base URLs.** A hosted API is called at its base URL as you enter it, so include the version (\`/v1\`); a query, such as Azure's
\`?api-version=…\`, is kept. For \`local\`, \`ondemand\` and the engine of an agent you may include \`/v1\` or leave it out. A user name and
password in a base URL (\`https://user:password@host/v1\`) are sent as Basic credentials if no API key is set. In them, write a \`%\` as
\`%25\`.

The **data directory** is \`${ENV_PREFIX}DATA_DIR\`; [files](ports-and-files.md#files) has its default.
`;

/** One table for sections that are alike, with the settings of the first and those in which another differs. */
function tableOf([first = '', ...others]: readonly string[]): string {
  const rows = entriesOf(first).map(rowOf);
  const alike = (row: string, id: string) =>
    row.replaceAll(id, first).replaceAll(id.toUpperCase(), first.toUpperCase());
  const further = others.flatMap((id) =>
    entriesOf(id)
      .map(rowOf)
      .filter((row) => !rows.includes(alike(row, id))),
  );
  const note =
    others.length === 0
      ? ''
      : `\n\n${new Intl.ListFormat('en-GB').format(others.map((id) => `\`${id}\``))} have the same settings, with their own prefix.`;
  return `| setting, variable | default | meaning |\n| --- | --- | --- |\n${[...rows, ...further].join('\n')}${note}`;
}

const entriesOf = (section: string) => ENTRIES.filter((entry) => entry.section === section);

function rowOf({ path, variable, setting }: Entry): string {
  const { meaning, secret, restart } = setting;
  const sentences = [
    meaning,
    secret ? 'Secret.' : '',
    restart ? 'Restart.' : '',
    choicesOf(path, setting.kind),
  ];
  const cells = [
    `\`${path}\`<br>\`${variable}\``,
    defaultOf(setting.fallback),
    sentences
      .filter((text) => text !== '')
      .join(' ')
      .replaceAll(' <br>', '<br>'),
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

/** What each choice means; several settings share a list, which is explained at the first. */
function choicesOf(path: string, { choices = [] }: Entry['setting']['kind']): string {
  const first = ENTRIES.find(({ setting }) => setting.kind.choices === choices)?.path ?? path;
  if (first !== path) return `Choices as for \`${first}\`.`;
  return choices.map(({ value, meaning }) => `<br>\`${value}\`: ${meaning}`).join('');
}

function defaultOf(fallback: unknown): string {
  const shown = shownDefault(fallback);
  return shown === 'none' ? shown : `\`${shown}\``;
}

if (import.meta.main) {
  const pages = [
    [PAGE, await configurationPage()],
    [CLI_PAGE, await cliPage()],
  ] as const;
  for (const [path, page] of pages) {
    if (page !== (await readFile(path, 'utf8').catch(() => ''))) await writeFile(path, page);
  }
}

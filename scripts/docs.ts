import { HOSTED_IDS } from '#shared/ids.ts';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { ENTRIES, type Entry, ENV_PREFIX } from '../main/config/schema.ts';
import { CLI_PAGE, cliPage } from './cli-page.ts';

// `npm run docs`: writes docs/reference/configuration.md and docs/reference/cli.md from the tables of settings and commands.

const PAGE = join(import.meta.dirname, '../docs/reference/configuration.md');

/** Where a section begins its own heading; sections that only differ in their prefix share one. */
const SECTIONS: readonly (readonly [heading: string, ...sections: string[]])[] = [
  ['Your GPUs (`local`)', 'local'],
  [`Hosted upstreams (${HOSTED_IDS.map((id) => `\`${id}\``).join(', ')})`, ...HOSTED_IDS],
  ['On-demand GPU (`ondemand`)', 'ondemand'],
  ['Circuits', 'circuit'],
  ['Routing', 'routing'],
  ['Share this machine (`agent`)', 'agent'],
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

You can change most settings in the dashboard under Settings. Three are worth a look first: the engine's address (\`local\`), a hosted API
(\`hosted_a\`), and **Local only** (\`FORCE_ZERO\`).

Each setting has three sources. The first that sets it wins:

1. an environment variable (all begin with \`${ENV_PREFIX}\`);
2. \`settings.json\` in the data directory, or \`secrets.json\` for keys and headers; the dashboard writes both;
3. the default.

An invalid value never falls back to the default. Inglenook refuses to start and tells you the variable, its value and what is allowed. A
file in the data directory that cannot be read is set aside as \`<name>.bad-<time>\`, with a warning. Changes made in the dashboard apply to
the next request, except where the tables say "restart". [Routing rules](routing-rules.md) explains hedging and continuing a dropped
stream in detail.

**Base URLs.** A hosted API is called at its base URL as you enter it, so include the version (\`/v1\`); a query, such as Azure's
\`?api-version=…\`, is kept. For \`local\`, \`ondemand\` and the engine of an agent you may include \`/v1\` or leave it out. A user name and
password in a base URL (\`https://user:password@host/v1\`) are sent as Basic credentials if no API key is set, and masked wherever the
address is shown. In them, write a \`%\` as \`%25\`.

The **data directory** is \`${ENV_PREFIX}DATA_DIR\`. Its default is \`~/Library/Application Support/Inglenook\` on macOS,
\`%APPDATA%\\Inglenook\` on Windows, and \`~/.local/share/inglenook\` (or \`$XDG_DATA_HOME/inglenook\`) elsewhere. What is in it:
[files](ports-and-files.md#files).

<picture>
  <source media="(prefers-color-scheme: dark)" srcset="../images/settings-dark.png">
  <img alt="The settings in the dashboard, with the section Your GPUs open" src="../images/settings-light.png" width="860">
</picture>

On the command line, while Inglenook runs (in a clone \`npm run inglenook -- get\`, and so on):

\`\`\`sh
inglenook get                             # all settings, with their sources
inglenook set agent.onlyWhenIdle true
inglenook set agent.onlyWhenIdle default
inglenook help settings                   # all variables, with what is allowed
\`\`\`
`;

/** One table for sections that are alike, with the variables of the first. */
function tableOf([first = '', ...others]: readonly string[]): string {
  const rows = entriesOf(first).map(rowOf);
  for (const other of others) {
    const same = entriesOf(other).map((entry) => rowOf(entry).replaceAll(...renamed(other, first)));
    if (same.join() !== rows.join()) throw new Error(`${other} is not like ${first}`);
  }
  const note =
    others.length === 0
      ? ''
      : `\n\nThe same variables exist with ${others.map((id) => `\`${ENV_PREFIX}${id.toUpperCase()}_\``).join(' and ')}.`;
  return `| variable | default | allowed | meaning |\n| --- | --- | --- | --- |\n${rows.join('\n')}${note}`;
}

const renamed = (from: string, to: string): [string, string] => [
  from.toUpperCase(),
  to.toUpperCase(),
];

const entriesOf = (section: string) => ENTRIES.filter((entry) => entry.section === section);

function rowOf({ setting }: Entry): string {
  const { kind, meaning, secret, restart } = setting;
  const choices = (kind.choices ?? []).map((choice) => `\`${choice.value}\`: ${choice.meaning}`);
  const sentences = [meaning, ...choices, secret ? 'Secret.' : '', restart ? 'Restart.' : ''];
  const cells = [
    `\`${ENV_PREFIX}${setting.env}\``,
    defaultOf(setting.fallback),
    kind.allowed,
    sentences.filter((text) => text !== '').join(' '),
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function defaultOf(fallback: unknown): string {
  const json = JSON.stringify(fallback);
  if (['null', '[]', '{}'].includes(json)) return 'none';
  return `\`${Array.isArray(fallback) ? fallback.join(',') : String(fallback)}\``;
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

import { HOSTED_IDS } from '#shared/ids.ts';
import type { SettingChoice } from '#shared/settings-view.ts';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { shownValue } from '../main/config/load.ts';
import { ENTRIES, type Entry } from '../main/config/schema.ts';
import { settingLabels } from '../renderer/text/en/setting-names.ts';
import { CLI_PAGE, cliPage } from './cli-page.ts';

// `npm run docs`: writes docs/reference/configuration.md and docs/reference/cli.md from the tables of settings and commands.

const PAGE = join(import.meta.dirname, '../docs/reference/configuration.md');

/** Where a section begins its own heading; sections that only differ in their prefix share one. */
const SECTIONS: readonly (readonly [heading: string, ...sections: string[]])[] = [
  ['Your GPUs', 'local'],
  ['Hosted APIs and the rented GPU', ...HOSTED_IDS, 'ondemand'],
  ['Circuits', 'circuit'],
  ['Routing', 'routing'],
  ['This machine', 'agent'],
  ['Gateway', 'gateway'],
];

/** docs/reference/configuration.md as it should be. */
export async function configurationPage(): Promise<string> {
  const listed = SECTIONS.flatMap(([, ...sections]) => sections);
  const missing = ENTRIES.find(({ section }) => !listed.includes(section));
  if (missing !== undefined) throw new Error(`no heading in docs/ for ${missing.section}`);
  const lists = SECTIONS.map(([heading, ...sections]) => `## ${heading}\n\n${listOf(sections)}`);
  return format(`${INTRODUCTION}\n${lists.join('\n\n')}\n`, {
    ...(await resolveConfig(PAGE)),
    parser: 'markdown',
  });
}

const INTRODUCTION = `<!-- Written by \`npm run docs\` from the table of settings; changes here are overwritten. -->

# Configuration

The first of these that has a setting wins:

1. its environment variable
2. \`settings.json\` in the [data directory](ports-and-files.md#files), or \`secrets.json\` for keys and headers; the dashboard and \`inglenook set\` write both
3. its default

\`\`\`sh
inglenook get   # all settings, and where they come from
inglenook set agent.onlyWhenIdle true
inglenook set agent.onlyWhenIdle default
\`\`\`

Each entry has the setting's path, its name in the dashboard, its variable, default, and range, if limited.
\`…Ms\` is in milliseconds: \`60000\` is a minute. A change takes effect at once for new requests, unless the entry says
"Restart."

**Without a running gateway,** \`inglenook set\` doesn't work. Use variables, or edit \`settings.json\`, in which lists are arrays:

\`\`\`json
{
  "local": { "timeoutMs": 90000 },
  "hosted_a": { "models": ["gpt-4o", "o3"] }
}
\`\`\`

**If a value isn't allowed** in a variable, Inglenook doesn't start. In \`settings.json\`, the value is set aside with a warning, and all others stay in
force. If it is a price or a budget, or the whole file can't be read, **Never spend money** is on until you switch it off.

**Secrets** can come from a file: \`INGLENOOK_HOSTED_A_API_KEY_FILE\` names the file with the key.

**Base URLs:**

- A hosted API's includes its version (\`/v1\`), and is called exactly as you enter it. Elsewhere you may leave out \`/v1\`.
- A query, such as Azure's \`?api-version=…\`, is kept.
- A user name and password (\`https://user:password@host/v1\`) are sent if there is no API key. In them, write \`%\` as \`%25\`.
`;

/** One list for sections that are alike, with the settings of the first and those in which another differs. */
function listOf([first = '', ...others]: readonly string[]): string {
  const items = entriesOf(first).map(itemOf);
  const alike = (item: string, id: string) =>
    item.replaceAll(id, first).replaceAll(id.toUpperCase(), first.toUpperCase());
  const further = others.flatMap((id) =>
    entriesOf(id)
      .map(itemOf)
      .filter((item) => !items.includes(alike(item, id))),
  );
  const note =
    others.length === 0
      ? ''
      : `${new Intl.ListFormat('en-GB').format(others.map((id) => `\`${id}\``))} have the same settings, with their own prefix.\n\n`;
  return note + [...items, ...further].join('\n');
}

const entriesOf = (section: string) => ENTRIES.filter((entry) => entry.section === section);

/** A setting, its name in the dashboard, its variable, its default and its range, with what its choices mean below it. */
function itemOf(entry: Entry): string {
  const { section, key, path, variable, setting } = entry;
  const first = explainedAt(entry);
  const choices = setting.kind.choices ?? [];
  const isLikeFirst = choices.length > 0 && first !== path;
  const sentences = [
    isLikeFirst ? `As \`${first}\`.` : setting.meaning,
    setting.secret ? 'Secret.' : '',
    setting.restart ? 'Restart.' : '',
  ];
  const name = settingLabels[section]?.[key] ?? key;
  const facts = [`**\`${path}\`**`, `_${name}_`, `\`${variable}\``, ...valuesOf(setting)];
  const lines = first === path ? choices.map(choiceLine) : [];
  const said = sentences.filter((text) => text !== '').join(' ');
  // The backslash ends a line.
  return [`- ${facts.join(', ')}\\\n  ${said}`, ...lines].join('\n');
}

const choiceLine = ({ value, meaning }: SettingChoice) => `  - \`${value}\`: ${meaning}`;

/** The path at which the choices of a setting are explained: several settings share a list. */
function explainedAt({ path, setting: { kind } }: Entry): string {
  return ENTRIES.find(({ setting }) => setting.kind.choices === kind.choices)?.path ?? path;
}

/** The default of a setting, if it has one, and the range of a number. */
function valuesOf({ fallback, kind }: Entry['setting']): readonly string[] {
  const shown = shownValue(fallback);
  const range = rangeOf(kind);
  return [
    ...(shown === 'none' ? [] : [`default \`${shown}\``]),
    ...(range === null ? [] : [range]),
  ];
}

/** Of a time, a count or an amount, any that a reader would enter. */
const WIDE = /^[01]–(1,000,000|86,400,000)$/;

/** Of a number, what it may be, unless that is nearly all; its unit is part of its name. */
function rangeOf({ allowed }: Entry['setting']['kind']): string | null {
  const range = /(?:number|ports) (?:from (\d+) to|of minutes (above 0, up to)) (\d+)/.exec(
    allowed,
  );
  if (range === null) return null;
  const [, min, above = '', max] = range;
  const special = /0: [^)]+/.exec(allowed);
  const shown = [
    `${min === undefined ? `${above} ` : `${min}–`}${Number(max).toLocaleString('en-GB')}`,
    ...(special ?? []),
  ].join('; ');
  return WIDE.test(shown) ? null : shown;
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

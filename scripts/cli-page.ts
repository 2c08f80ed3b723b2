import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import type { Command } from 'commander';
import { EXIT_MEANINGS } from '../main/cli/command.ts';
import { createProgram, EXAMPLES } from '../main/cli/program.ts';

export const CLI_PAGE = join(import.meta.dirname, '../docs/reference/cli.md');

/** docs/reference/cli.md as it should be. */
export async function cliPage(): Promise<string> {
  const { commands: all } = createProgram(() => Promise.resolve());
  const commands = all.map(sectionOf).join('\n\n');
  const codes = Object.entries(EXIT_MEANINGS).map(([code, meaning]) => `- **${code}:** ${meaning}`);
  const page = `${INTRODUCTION}
${NOTES}
## Commands

${commands}

## Exit codes

${codes.join('\n')}
- **130, 143:** A second signal (SIGINT, SIGTERM) forced the gateway to quit.
`;
  return format(page, { ...(await resolveConfig(CLI_PAGE)), parser: 'markdown' });
}

const INTRODUCTION = `<!-- Written by \`npm run docs\` from the table of commands; changes here are overwritten. -->

# Command line

Without a command, \`inglenook\` starts the gateway.
\`inglenook --version\` prints its version.
`;

const NOTES = `Most commands talk to the gateway that runs with the same data directory. \`start\`, \`logs\`, \`service\`, \`uninstall\`,
\`help\`, \`join\` and \`leave\` also work without one.

- **Answers** go to standard output.
- **Errors, progress and advice** go to standard error, so \`key=$(inglenook keys add anna)\` works.
- **\`--json\`** prints the answer as JSON, except for \`start\` and \`help\`.
- **\`NO_COLOR\`** turns colors off.
`;

/** Of what a command prints, one line of each kind; `keys`: of its list. */
const PRINTED: Readonly<Record<string, string>> = {
  status: '  OpenAI     hosted_a  next in line  gpt-4o-mini  https://api.openai.com/v1',
  models: 'openai/gpt-4o-mini  hosted_a',
  keys: 'anna  created 2026-11-29T20:42:16.600Z  last used 2026-11-29T20:42:17.677Z  2 of 500 requests per day',
  machines: 'prv_78cd3662a1146df5c93de7b0cc60c7a5  tower  ready  tested  qwen3:8b',
  doctor:
    '  ok   test inference returns choices (17 ms): http://127.0.0.1:3001/v1/chat/completions',
};

function sectionOf(command: Command): string {
  const words = command.registeredArguments.map((each) =>
    each.required ? `<${each.name()}>` : `[${each.name()}]`,
  );
  // Nearly every command has this one, so the notes name it.
  const own = command.options.filter(({ flags }) => flags !== '--json');
  const options = own.map(({ flags, description }) => `- \`${flags}\`: ${description}`);
  const heading = `### \`${[command.name(), ...words].join(' ')}\``;
  const example = EXAMPLES[command.name()];
  const block = (language: string, text: string) => `\`\`\`${language}\n${text}\n\`\`\``;
  const printed = PRINTED[command.name()];
  return [
    heading,
    command.description(),
    options.join('\n'),
    example === undefined ? '' : block('sh', example),
    printed === undefined ? '' : block('text', printed),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import type { Command } from 'commander';
import { EXIT_MEANINGS } from '../main/cli/command.ts';
import { createProgram } from '../main/cli/program.ts';

export const CLI_PAGE = join(import.meta.dirname, '../docs/reference/cli.md');

/** docs/reference/cli.md as it should be. */
export async function cliPage(): Promise<string> {
  const { commands: all } = createProgram(() => Promise.resolve());
  const commands = all.map(commandRow).join('\n');
  const codes = Object.entries(EXIT_MEANINGS).map(([code, meaning]) => `| ${code} | ${meaning} |`);
  const page = `${INTRODUCTION}
## Commands

| command | options | does |
| --- | --- | --- |
${commands}

${NOTES}
## Exit codes

| code | meaning |
| --- | --- |
${codes.join('\n')}

If a second signal forces the gateway to quit, it exits with 130 (SIGINT) or 143 (SIGTERM).

## As a service

\`inglenook service install\` writes a unit for systemd, an agent for launchd or a task for Windows, and starts it. \`--print\` only shows it.
Under systemd the log is in the journal. \`inglenook open\` makes the sign-in link that a service doesn't print.

## In a container

\`deploy/Containerfile\` builds an image, and \`deploy/compose.yaml\` puts Open WebUI in front of it. The image needs \`INGLENOOK_API_KEYS\`,
because it listens on the network. It can run as any user, on a read-only file system and without capabilities: it writes only to the volume
\`/data\`. \`--gpus all\` (Docker with the NVIDIA Container Toolkit) lets it read the GPU. Its health check asks \`/readyz\`, so a container
without an upstream that could serve is called unhealthy. It keeps running.
`;
  return format(page, { ...(await resolveConfig(CLI_PAGE)), parser: 'markdown' });
}

const INTRODUCTION = `<!-- Written by \`npm run docs\` from the table of commands; changes here are overwritten. -->

# Command line

In a clone, \`alias inglenook="node '$PWD/scripts/inglenook.mjs'"\` gives the command its name. \`inglenook <command> --help\` explains one command,
\`inglenook help settings\` lists every setting. Without a command it starts the gateway.
`;

const NOTES = `Most commands talk to the running gateway of the data directory, with the token in \`control-token\`. \`start\`, \`logs\`, \`service\` and
\`help\` need no gateway; \`join\` and \`leave\` work without one, too. Answers go to standard output. With \`--json\`, which all commands but
\`start\` and \`help\` take, they are JSON and nothing else. Errors and progress go to standard error. Colours are off if \`NO_COLOR\` is set or the output is not a terminal.
`;

function commandRow(command: Command): string {
  const words = command.registeredArguments.map((each) =>
    each.required ? `<${each.name()}>` : `[${each.name()}]`,
  );
  // Nearly every command has this one, so the notes name it.
  const own = command.options.filter(({ flags }) => flags !== '--json');
  const options = own.map(({ flags }) => `\`${flags}\``).join(', ');
  const cells = [`\`${[command.name(), ...words].join(' ')}\``, options, command.description()];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

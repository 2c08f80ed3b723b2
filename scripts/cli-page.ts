import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import {
  type Command,
  EXIT_MEANINGS,
  optionsOf,
  optionText,
  synopsis,
} from '../main/cli/command.ts';
import { COMMANDS } from '../main/cli/table.ts';

export const CLI_PAGE = join(import.meta.dirname, '../docs/reference/cli.md');

/** docs/reference/cli.md as it should be. */
export async function cliPage(): Promise<string> {
  const commands = COMMANDS.map(commandRow).join('\n');
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

A gateway that a second signal ends leaves with 130 (SIGINT) or 143 (SIGTERM).

## As a service

\`switchyard service install\` writes a unit for systemd, an agent for launchd or a task for Windows, and starts it;
\`--print\` only shows it. The service has no variables of your shell but the data directory: what it needs is set in the
window or by \`switchyard set\`. Under systemd the log is in the journal.

\`sudo switchyard service install --system\` makes a unit of the machine, with a user of its own and its data in
\`/var/lib/switchyard\`. Node and Switchyard must then lie where all users can read them.

## In a container

\`deploy/Containerfile\` builds an image, and \`deploy/compose.yaml\` puts Open WebUI in front of it; the first lines of
each say how. The image needs \`SWITCHYARD_API_KEYS\`, because it listens on the network. With the NVIDIA Container
Toolkit, \`--gpus all\` (Docker) or \`--device nvidia.com/gpu=all\` (podman) shows the GPU's figures.
`;
  return format(page, { ...(await resolveConfig(CLI_PAGE)), parser: 'markdown' });
}

const INTRODUCTION = `<!-- Written by \`npm run docs\` from the table of commands; changes here are overwritten. -->

# Command line

In a clone of this repository, \`switchyard\` is \`node scripts/switchyard.mjs\`. \`switchyard <command> --help\` (or \`-h\`)
explains one command, \`switchyard --help\` lists all of them and every setting, and \`switchyard --version\` (or \`-v\`) prints the
version. Without a command it starts the gateway.
`;

const NOTES = `All but \`start\`, \`logs\`, \`service\`, \`completion\` and \`help\` talk to the running gateway of the data directory: its address
is in \`running.json\` there. The gateway first proves that it knows \`control-token\`, and only then is it sent.
\`join\`, \`leave\` and \`doctor\` work where none runs, too.

What a command answers goes to standard output; with \`--json\` that is JSON and nothing else. Errors, progress and the
route of \`chat\` go to standard error. There is no colour where \`NO_COLOR\` is set or the output is no terminal, and
progress only on a terminal.

To complete commands, options and settings with the Tab key:

    eval "$(switchyard completion bash)"            # in ~/.bashrc
    eval "$(switchyard completion zsh)"             # in ~/.zshrc
    switchyard completion fish | source             # in ~/.config/fish/config.fish
`;

function commandRow(command: Command): string {
  const options = optionsOf(command)
    .slice(0, -1)
    .map((option) => `\`${optionText(option)}\``)
    .join(', ');
  const does = [command.summary, command.details ?? ''].join(' ').trim();
  const cells = [`\`${synopsis(command)}\``, options, does];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

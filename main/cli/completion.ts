import { type Command, optionsOf } from './command.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** A script that a shell evaluates to complete commands, options and known words. */
export function completionScript(shell: string, commands: readonly Command[]): string {
  switch (shell) {
    case 'zsh':
      return zsh(commands);
    case 'fish':
      return fish(commands);
    default:
      return bash(commands);
  }
}

const knownWords = ({ arguments: all = [] }: Command): readonly string[] =>
  all.flatMap(({ choices, known }) => choices ?? known ?? []);

const optionWords = (command: Command) => optionsOf(command).map(({ name }) => `--${name}`);

const wordsOf = (command: Command) => [...knownWords(command), ...optionWords(command)].join(' ');

/** Works in bash 3.2 too, which macOS ships. */
function bash(commands: readonly Command[]): string {
  const names = commands.map(({ name }) => name).join(' ');
  const cases = commands.map((each) => `    ${each.name}) words='${wordsOf(each)}' ;;`);
  return `# Load it in ~/.bashrc: eval "$(inglenook completion bash)"
_inglenook() {
  local words='' current="\${COMP_WORDS[COMP_CWORD]}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    words='${names} --help --version'
  else
    case "\${COMP_WORDS[1]}" in
${cases.map((line) => `  ${line}`).join('\n')}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _inglenook inglenook
`;
}

/** In single quotes, for bash and zsh. */
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

function zsh(commands: readonly Command[]): string {
  const described = commands.map(
    ({ name, summary }) => `    ${quoted(`${name}:${summary.replaceAll(':', '\\:')}`)}`,
  );
  const cases = commands.map((each) => `    ${each.name}) compadd -- ${wordsOf(each)} ;;`);
  return `#compdef inglenook
# Load it in ~/.zshrc: eval "$(inglenook completion zsh)"
_inglenook() {
  local -a commands=(
${described.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case $words[2] in
${cases.join('\n')}
  esac
}
compdef _inglenook inglenook
`;
}

const fishQuoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

function fish(commands: readonly Command[]): string {
  const lines = commands.flatMap((command) => {
    const { name, summary } = command;
    const within = `complete -c inglenook -n '__fish_seen_subcommand_from ${name}'`;
    const words = knownWords(command);
    return [
      `complete -c inglenook -n __fish_use_subcommand -a ${name} -d ${fishQuoted(summary)}`,
      ...(words.length === 0 ? [] : [`${within} -a ${fishQuoted(words.join(' '))}`]),
      ...optionsOf(command).map((option) => {
        const short = option.short === undefined ? '' : ` -s ${option.short}`;
        const value = option.value === undefined ? '' : ' -x';
        return `${within} -l ${option.name}${short}${value} -d ${fishQuoted(option.summary)}`;
      }),
    ];
  });
  return `# Load it in ~/.config/fish/config.fish: inglenook completion fish | source
complete -c inglenook -f
${lines.join('\n')}
`;
}

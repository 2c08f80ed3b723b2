import { createSettingsHelp } from './config/help.ts';
import { dataDirectory } from './config/data-dir.ts';
import { openLink } from './control-link.ts';
import { runHeadless } from './headless-run.ts';
import { VERSION } from './version.ts';

const USAGE = `switchyard ${VERSION}: an LLM gateway over your own GPUs and your hosted fallbacks

  switchyard            run the gateway with its window in a browser
  switchyard open       print a new link that gives a browser control
  switchyard --help     this text and every setting
  switchyard --version
`;

/** Runs the command line; the process ends with what it sets as exit code. */
export async function runCli(args: readonly string[]): Promise<void> {
  const [command, ...rest] = args;
  const env = process.env;
  if (rest.length > 0) fail(`"${rest.join(' ')}" is too much: "${command}" takes nothing.`);
  else if (command === undefined) await runHeadless(env);
  else if (command === 'open') await openLink(dataDirectory(env, process.platform));
  else if (command === '--version') process.stdout.write(`${VERSION}\n`);
  else if (command === '--help') process.stdout.write(`${USAGE}\n${createSettingsHelp()}`);
  else fail(`"${command}" is no command of switchyard.`);
}

function fail(message: string): void {
  process.stderr.write(`${message}\n\n${USAGE}`);
  process.exitCode = 2;
}

import { spawn } from 'node:child_process';
import { answer, type CommandOutcome, type Input } from './command.ts';
import { ask } from './running-app.ts';
import type { CommandLine } from './run-program.ts';

/** Asks the gateway that runs with this data directory for a one-time link that gives control. */
export function askForLink(dataDirectory: string) {
  const call = { method: 'POST', path: 'sessions/codes', isOfAnyVersion: true } as const;
  return ask<{ readonly link: string }>(dataDirectory, call);
}

/** Opens the window in the browser; without one, or with `--print`, only prints the link. */
export async function openWindow({ env, dataDirectory, options }: Input): Promise<CommandOutcome> {
  const asked = await askForLink(dataDirectory);
  if (asked.kind === 'failed') return asked;
  const { link } = asked.body;
  const onlyPrints = options['print'] === true || options['json'] === true || !process.stdout.isTTY;
  if (!onlyPrints) showInBrowser(link, env);
  return answer({ link }, link);
}

/** The command that opens an address in the user's browser; null without a screen. */
export function openerOf(
  platform: NodeJS.Platform,
  env: Readonly<Record<string, string | undefined>>,
): CommandLine | null {
  if (platform === 'darwin') return ['open'];
  // "start" would need a shell, which gives some characters of an address a special meaning.
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return env['DISPLAY'] || env['WAYLAND_DISPLAY'] ? ['xdg-open'] : null;
}

function showInBrowser(link: string, env: NodeJS.ProcessEnv): void {
  const opener = openerOf(process.platform, env);
  if (opener === null) return;
  const [command, ...args] = opener;
  const child = spawn(command, [...args, link], { stdio: 'ignore', detached: true });
  // The link is printed anyway.
  child.on('error', () => {});
  child.unref();
}

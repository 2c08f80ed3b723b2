import { command } from './running.ts';

/** Asks the running gateway for a new control link and prints it; exit code 1 where none runs. */
export async function openLink(dataDirectory: string): Promise<void> {
  const body = await command(dataDirectory, { method: 'POST', path: 'sessions/codes' });
  if (body !== null) process.stdout.write(`${String(body['link'])}\n`);
}

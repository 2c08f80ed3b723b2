import { readControlToken } from './platform/control-token.ts';
import { readRunFile } from './run-file.ts';

/** Asks the running gateway for a new control link and prints it; exit code 1 where none runs. */
export async function openLink(dataDirectory: string): Promise<void> {
  const url = readRunFile(dataDirectory);
  const token = readControlToken(dataDirectory);
  const link = url === null || token === null ? null : await requestLink(url, token);
  if (link === null) {
    process.stderr.write(
      `No gateway runs with the data directory ${dataDirectory}. Start one with "npm start", or set SWITCHYARD_DATA_DIR to the directory of the one that runs.\n`,
    );
    process.exitCode = 1;
  } else process.stdout.write(`${link}\n`);
}

async function requestLink(url: string, token: string): Promise<string | null> {
  try {
    const response = await fetch(`${url}/api/v1/sessions/codes`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(5000),
    });
    const body = (await response.json()) as { readonly link?: unknown };
    return typeof body.link === 'string' ? body.link : null;
  } catch {
    return null;
  }
}

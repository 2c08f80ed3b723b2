import { styleText } from 'node:util';

export type Style = 'green' | 'yellow' | 'red' | 'dim';

/** Colours for standard output; none if it is not a terminal or `NO_COLOR` is set. */
export const paint = (style: Style, text: string): string =>
  styleText(style, text, { stream: process.stdout });

/** Ends the text with a line break if it has none. */
export function print(text: string): void {
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
}

export function printError(text: string): void {
  process.stderr.write(text.endsWith('\n') ? text : `${text}\n`);
}

/**
 * Exits quietly when the reader of the output is gone, as in `inglenook logs | head`. A gateway in the foreground
 * keeps running, because its output is not its purpose: also where that goes to a full disk or a closed terminal.
 */
export function ignoreClosedOutput(isGateway: boolean): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (isGateway) return;
      if (error.code !== 'EPIPE') throw error;
      process.exit(0);
    });
  }
}

/** Says on a terminal what takes a while; prints nothing elsewhere. */
export function printProgress(text: string): void {
  if (process.stderr.isTTY) printError(`${text}…`);
}

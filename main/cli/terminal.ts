import { styleText } from 'node:util';

type Style = 'green' | 'yellow' | 'red' | 'dim' | 'bold';
export type Paint = (style: Style, text: string) => string;

/** Colours for standard output; none if it is not a terminal or `NO_COLOR` is set. */
export const paint: Paint = (style, text) => styleText(style, text, { stream: process.stdout });

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

const TICK_MS = 1000;
/** Returns to the start of the line and erases it. */
const ERASE = '\r\u001B[K';

/** Shows on a terminal that work is running, and for how long; prints nothing elsewhere. */
export async function withProgress<T>(text: string, work: Promise<T>): Promise<T> {
  const { stderr } = process;
  if (!stderr.isTTY) return work;
  const startedAt = performance.now();
  const show = () => {
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    stderr.write(`${ERASE}${text} ${seconds} s`);
  };
  show();
  const timer = setInterval(show, TICK_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    stderr.write(ERASE);
  }
}

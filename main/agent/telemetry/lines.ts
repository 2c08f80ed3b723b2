import { StringDecoder } from 'node:string_decoder';

/** Longer lines are nobody's reading; what is longer is dropped as it comes. */
const MAX_LINE_CHARS = 4096;

/** Cuts output into lines; keeps no more than one of them. */
export function createLineReader(onLine: (line: string) => void): (chunk: Buffer) => void {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  let isTooLong = false;
  return (chunk) => {
    const parts = decoder.write(chunk).split('\n');
    const last = parts.pop() ?? '';
    for (const part of parts) {
      const line = rest + part;
      if (!isTooLong && line.length <= MAX_LINE_CHARS && line.trim() !== '') onLine(line.trim());
      rest = '';
      isTooLong = false;
    }
    if (isTooLong || rest.length + last.length > MAX_LINE_CHARS) {
      rest = '';
      isTooLong = true;
    } else {
      rest += last;
    }
  };
}

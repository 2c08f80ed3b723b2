import { ByteBuffer } from './byte-buffer.ts';

const LF = 0x0a;

/**
 * Splits chunks at line feeds; a line of more than `maxBytes` is left out. Lines are read as Latin-1, which is enough
 * where ASCII is searched for.
 */
export function createLines(maxBytes: number, onLine: (line: string) => void) {
  /** The unfinished line. */
  const rest = new ByteBuffer();
  let isTooLong = false;

  function keep(piece: Buffer): void {
    if (isTooLong) return;
    rest.add(piece);
    isTooLong = rest.length > maxBytes;
    if (isTooLong) rest.clear();
  }

  function end(): void {
    if (!isTooLong) onLine(rest.take().toString('latin1'));
    isTooLong = false;
  }

  return {
    add(chunk: Buffer) {
      let from = 0;
      for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, from)) {
        keep(chunk.subarray(from, at));
        end();
        from = at + 1;
      }
      keep(chunk.subarray(from));
    },
    /** What has come since the last line feed is a line, too. */
    end,
  };
}

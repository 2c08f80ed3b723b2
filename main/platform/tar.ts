export interface TarFile {
  /** At most 100 bytes. */
  readonly path: string;
  readonly bytes: Buffer;
  readonly isExecutable: boolean;
}

const BLOCK = 512;
/** npm gives all files this time (26 October 1985), so that the same files make the same archive. */
const TIME_S = 499_162_500;

/** A tar archive in the ustar format (POSIX.1-1988) of regular files. */
export function tarOf(files: readonly TarFile[]): Buffer {
  const parts = files.flatMap((file) => [headerOf(file), file.bytes, padding(file.bytes.length)]);
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}

function padding(bytes: number): Buffer {
  return Buffer.alloc((BLOCK - (bytes % BLOCK)) % BLOCK);
}

function headerOf({ path, bytes, isExecutable }: TarFile): Buffer {
  if (Buffer.byteLength(path) > 100) throw new Error(`The path ${path} is too long for ustar.`);
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, length: number) =>
    header.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at);
  header.write(path, 0);
  octal(isExecutable ? 0o755 : 0o644, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(bytes.length, 124, 12);
  octal(TIME_S, 136, 12);
  // The sum counts its own field as spaces.
  header.write(' '.repeat(8), 148);
  header.write('0', 156);
  header.write('ustar\u000000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

import type { Span } from './json-members.ts';

/** Fields stand before or behind the file; the file itself, which may be large, is not searched. */
const SEARCHED_BYTES = 64 * 1024;
const MAX_VALUE_BYTES = 200;

/** The value of a short field in a form (RFC 7578); null if it is not found near either end. */
export function formField(bytes: Buffer, name: string): string | null {
  const found = valueOf(bytes, name);
  return found === null ? null : bytes.toString('utf8', found.start, found.end);
}

/** The form with another value of a field, which it has. */
export function withFormField(bytes: Buffer, name: string, value: string): Buffer {
  const found = valueOf(bytes, name);
  if (found === null) return bytes;
  const [before, behind] = [bytes.subarray(0, found.start), bytes.subarray(found.end)];
  return Buffer.concat([before, Buffer.from(value), behind]);
}

function valueOf(bytes: Buffer, name: string): Span | null {
  const tail = Math.max(0, bytes.length - SEARCHED_BYTES);
  return valueIn(bytes, 0, name) ?? valueIn(bytes, tail, name);
}

function valueIn(bytes: Buffer, from: number, name: string): Span | null {
  const field = new RegExp(
    `\\r\\ncontent-disposition: *form-data; *name="?${name}"?[ \\t]*\\r\\n(?:[^\\r\\n]+\\r\\n)*\\r\\n([^\\r\\n]{1,${MAX_VALUE_BYTES}})\\r\\n--`,
    'di',
  );
  // One character for each byte, so that positions are those of the bytes.
  const found = field.exec(bytes.toString('latin1', from, from + SEARCHED_BYTES));
  const [start, end] = found?.indices?.[1] ?? [];
  return start === undefined || end === undefined ? null : { start: from + start, end: from + end };
}

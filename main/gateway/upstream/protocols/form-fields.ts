/** Fields stand before or behind the file; the file itself, which may be large, is not searched. */
const SEARCHED_BYTES = 64 * 1024;
const MAX_VALUE_CHARS = 200;

/** The value of a short field in a form (RFC 7578); null if it is not found near either end. */
export function formField(bytes: Buffer, name: string): string | null {
  const field = new RegExp(
    `\\r\\ncontent-disposition: *form-data; *name="?${name}"?[ \\t]*\\r\\n(?:[^\\r\\n]+\\r\\n)*\\r\\n([^\\r\\n]{1,${MAX_VALUE_CHARS}})\\r\\n--`,
    'i',
  );
  const head = bytes.toString('utf8', 0, SEARCHED_BYTES);
  const tail = bytes.toString('utf8', Math.max(0, bytes.length - SEARCHED_BYTES));
  return field.exec(head)?.[1] ?? field.exec(tail)?.[1] ?? null;
}

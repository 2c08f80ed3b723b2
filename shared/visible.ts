/**
 * Control characters, line separators and characters that change the text direction: in a name from outside they could
 * move a terminal's cursor, forge lines or disguise the name. From Unicode's list, without the joiners that scripts
 * need (https://www.unicode.org/reports/tr9/#Directional_Formatting_Characters).
 */
const HIDDEN = String.raw`\p{Cc}\p{Zl}\p{Zp}\u00AD\u061C\u200B\u200E\u200F\u202A-\u202E\u2060-\u2064\u2066-\u206F\uFEFF\u{E0000}-\u{E007F}`;
const ONE_HIDDEN = new RegExp(`[${HIDDEN}]`, 'gu');
/** Most texts, which need no replacement. */
const PLAIN = /^[\x20-\x7E]*$/;
/** JSON must escape control characters, and may escape any other. */
const MAY_HOLD_HIDDEN = new RegExp(String.raw`[${HIDDEN}]|\\[ubfnrt]`, 'u');

/** A text from outside, safe to show: each hidden character is replaced by its code, such as `⟨U+202E⟩`. */
export function visible(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replaceAll(ONE_HIDDEN, (found) => {
    const code = (found.codePointAt(0) ?? 0).toString(16).toUpperCase();
    return `⟨U+${code.padStart(4, '0')}⟩`;
  });
}

/** Parses JSON whose texts are to be shown. */
export function parseVisible(json: string): unknown {
  if (!MAY_HOLD_HIDDEN.test(json)) return JSON.parse(json);
  return JSON.parse(json, (_key, value: unknown) =>
    typeof value === 'string' ? visible(value) : value,
  );
}

/** Output of other programs made safe to show: short, on one line, hidden characters as their codes. */
export function excerpt(output: string, maxChars = 200): string {
  // Some output is megabytes long.
  const line = output.slice(0, 4 * maxChars).replaceAll(/[ \t\r\n]+/g, ' ');
  const shown = visible(line.trim());
  return shown.length > maxChars ? `${shown.slice(0, maxChars)}…` : shown;
}

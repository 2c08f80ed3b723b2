import { visible } from '#shared/visible.ts';

/** Output of other programs made safe to show: short, on one line, hidden characters as their codes. */
export function excerpt(output: string, maxChars = 200): string {
  // Some output is megabytes long.
  const line = output.slice(0, 4 * maxChars).replaceAll(/[ \t\r\n]+/g, ' ');
  const shown = visible(line.trim());
  return shown.length > maxChars ? `${shown.slice(0, maxChars)}…` : shown;
}

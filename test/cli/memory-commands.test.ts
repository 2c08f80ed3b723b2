import { expect, test } from 'vitest';
import { freedText, minutesIn } from '../../main/cli/owner-commands.ts';

test.each([
  ['1.5h', 90],
  ['0.5', 0.5],
  ['90m', 90],
  ['90', 90],
  ['1h30m', 90],
  ['168h', 10_080],
])('the time "%s" is %s minutes', (span, minutes) => {
  expect(minutesIn(span)).toBe(minutes);
});

test.each(['169h', '0m', '-5', 'two hours', '', 'h', '1h1h'])('"%s" is no time', (span) => {
  expect(minutesIn(span)).toBeNull();
});

const NOW = new Date(2026, 0, 5, 16, 0);
const freed = (untilMs: number | null) => ({ freed: { untilMs } });

test('freed memory is reported with its end and with what comes back', () => {
  const memory = { toLoad: ['qwen3', 'nomic'], problem: null };
  const untilMs = new Date(2026, 0, 5, 18, 5).getTime();
  expect(freedText({ owner: freed(untilMs), memory }, NOW)).toBe(
    'freed until 18:05. Unloaded: qwen3, nomic. Other sources answer meanwhile; "inglenook resume" ends it and loads the same models again.',
  );
  const tomorrow = new Date(2026, 0, 6, 9, 0).getTime();
  expect(freedText({ owner: freed(tomorrow), memory }, NOW)).toMatch(/^freed until .* 09:00\./);
});

test('memory that stays taken is reported with what keeps it', () => {
  const memory = { toLoad: [], problem: 'mlx holds its model. Stop it.' };
  expect(freedText({ owner: freed(null), memory }, NOW)).toBe(
    'This machine takes no requests, but memory is still taken: mlx holds its model. Stop it.',
  );
});

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { TRAY_SHAPES } from '../../main/desktop/tray-state.ts';

const ICONS = join(import.meta.dirname, '../../main/desktop/icons');
const ENDS = ['.png', '@2x.png', 'Template.png', 'Template@2x.png'];

test('each tray shape has its own image in every form that the systems look for, drawn again for dense screens', () => {
  const names = TRAY_SHAPES.flatMap((shape) => ENDS.map((end) => shape + end));
  expect(readdirSync(ICONS)).toEqual(expect.arrayContaining(names));
  const images = names.map((name) => readFileSync(join(ICONS, name)));
  expect(new Set(images.map((image) => image.toString('base64'))).size).toBe(names.length);
  const widths = images.map((image) => image.readUInt32BE(16));
  const dense = widths.filter((_, at) => at % 2 === 1);
  expect(dense).toEqual(widths.filter((_, at) => at % 2 === 0).map((width) => 2 * width));
});

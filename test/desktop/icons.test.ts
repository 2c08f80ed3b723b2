import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { TRAY_SHAPES } from '../../main/desktop/tray-state.ts';

const ICONS = join(import.meta.dirname, '../../main/desktop/icons');

/** The RGBA pixels of an icon; all of them are 8-bit RGBA in one IDAT chunk with unfiltered rows. */
function pixelsOf(name: string): readonly (readonly number[])[] {
  const file = readFileSync(join(ICONS, name));
  const width = file.readUInt32BE(16);
  const height = file.readUInt32BE(20);
  const start = file.indexOf('IDAT') + 4;
  const rows = inflateSync(file.subarray(start, start + file.readUInt32BE(start - 8)));
  const stride = width * 4 + 1;
  return Array.from({ length: width * height }, (_, index) => {
    const row = Math.floor(index / width);
    if (rows[row * stride] !== 0) throw new Error(`${name} has filtered rows`);
    const at = row * stride + 1 + (index % width) * 4;
    return [...rows.subarray(at, at + 4)];
  });
}

const isInk = ([, , , alpha = 0]: readonly number[]) => alpha > 127;

/** Most of its opaque pixels that are no shade of grey; empty without such. */
function colourOf(name: string): string {
  const counts = new Map<string, number>();
  for (const [red = 0, green = 0, blue = 0, alpha = 0] of pixelsOf(name)) {
    const isGrey = Math.max(red, green, blue) - Math.min(red, green, blue) < 40;
    const colour = `${red},${green},${blue}`;
    if (alpha === 255 && !isGrey) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const [most] = [...counts].toSorted(([, a], [, b]) => b - a);
  return most?.[0] ?? '';
}

describe('tray icons', () => {
  test('tray icons differ by shape alone, without colour, at their smallest', () => {
    const shapes = TRAY_SHAPES.map((shape) => pixelsOf(`${shape}Template.png`).map(isInk));
    for (const [index, one] of shapes.entries())
      for (const other of shapes.slice(index + 1)) {
        const different = one.filter((ink, at) => ink !== other[at]).length;
        expect(different / one.length).toBeGreaterThan(0.05);
      }
  });

  test('tray icons differ by colour as well where the system leaves them theirs', () => {
    const colours = TRAY_SHAPES.map((shape) => colourOf(`${shape}.png`));
    expect(new Set(colours).size).toBe(TRAY_SHAPES.length);
  });

  test.each(TRAY_SHAPES)(
    'the tray icon %s is drawn again for screens of twice the density',
    (shape) => {
      for (const kind of ['', 'Template'])
        expect(pixelsOf(`${shape}${kind}@2x.png`)).toHaveLength(
          4 * pixelsOf(`${shape}${kind}.png`).length,
        );
    },
  );

  test.each(TRAY_SHAPES)(
    'the tray icon %s is two-tone where the panel may be dark or light',
    (shape) => {
      const reds = pixelsOf(`${shape}.png`)
        .filter(([, , , alpha]) => alpha === 255)
        .map(([red = 0]) => red);
      expect(reds.some((red) => red > 200)).toBe(true);
      expect(reds.some((red) => red < 60)).toBe(true);
    },
  );

  test.each(TRAY_SHAPES)('the tray icon %s has every file that the systems look for', (shape) => {
    const names = ['.png', '@2x.png', 'Template.png', 'Template@2x.png'];
    expect(readdirSync(ICONS)).toEqual(expect.arrayContaining(names.map((end) => shape + end)));
  });
});

import { inflateSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { drawTemplate, drawTwoTone, type Pixels } from '../../main/desktop/icons/draw.ts';
import { iconFiles } from '../../main/desktop/icons/files.ts';
import { encodePng } from '../../main/desktop/icons/png.ts';
import { TRAY_SHAPES } from '../../main/desktop/serving-summary.ts';

function silhouette({ rgba }: Pixels): readonly boolean[] {
  return Array.from({ length: rgba.length / 4 }, (_, index) => (rgba[index * 4 + 3] ?? 0) > 127);
}

function difference(a: readonly boolean[], b: readonly boolean[]): number {
  return a.filter((isInk, index) => isInk !== b[index]).length / a.length;
}

describe('tray icons', () => {
  test('differ by shape alone, without colour, at their smallest', () => {
    const shapes = TRAY_SHAPES.map((shape) => silhouette(drawTemplate(shape, 18)));
    for (const [index, one] of shapes.entries())
      for (const other of shapes.slice(index + 1))
        expect(difference(one, other)).toBeGreaterThan(0.05);
  });

  test.each(TRAY_SHAPES)('%s is two-tone where the panel may be dark or light', (shape) => {
    const { rgba } = drawTwoTone(shape, 32);
    const solid = Array.from({ length: rgba.length / 4 }, (_, index) => index * 4).filter(
      (at) => rgba[at + 3] === 255,
    );
    expect(solid.some((at) => (rgba[at] ?? 0) > 200)).toBe(true);
    expect(solid.some((at) => (rgba[at] ?? 255) < 60)).toBe(true);
  });

  test('every file has its denser twin', () => {
    const names = [...iconFiles().keys()].filter((name) => name !== 'app.png');
    const plain = names.filter((name) => !name.includes('@2x'));
    expect(plain.map((name) => name.replace('.png', '@2x.png')).toSorted()).toEqual(
      names.filter((name) => name.includes('@2x')).toSorted(),
    );
  });
});

test('a PNG file holds the pixels that were drawn', () => {
  const pixels = drawTwoTone('broken', 32);
  const file = encodePng(pixels);
  expect(file.subarray(1, 4).toString('latin1')).toBe('PNG');
  const start = file.indexOf('IDAT') + 4;
  const rows = inflateSync(file.subarray(start, start + file.readUInt32BE(start - 8)));
  const row = 32 * 4 + 1;
  const held = Array.from({ length: 32 }, (_, y) => [
    ...rows.subarray(y * row + 1, (y + 1) * row),
  ]).flat();
  expect(held).toEqual([...pixels.rgba]);
});

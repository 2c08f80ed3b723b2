// `npm run icons`: draws the tray icons in main/desktop/icons from the shapes below, in a browser.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import { TRAY_SHAPES, type TrayShape } from '../main/desktop/tray-state.ts';
import { closeBrowser, openPage } from '../test/support/browser.ts';

const ICONS = join(import.meta.dirname, '../main/desktop/icons');

/** In a box of 32: what is inside the ring, and the colour behind it. */
const SHAPES: Readonly<Record<TrayShape, { readonly symbol: string; readonly colour: string }>> = {
  closed: { symbol: 'M5 16 H27', colour: '#2fb573' },
  fallback: {
    symbol: 'M9.5 20 A6.6 6.6 0 1 1 22 19 M18 18.6 L22.2 20.4 L24 16',
    colour: '#f2b01e',
  },
  broken: { symbol: 'M16 9 V17.5 M16 22 V22.2', colour: '#ee5a4b' },
  paused: { symbol: 'M12.6 11 V21 M19.4 11 V21', colour: '#6fa8ff' },
  off: { symbol: '', colour: '#ffffff' },
};

/** Two-tone and coloured, for dark and light panels; a template is black, and macOS recolours it. */
function svg(shape: TrayShape, isTemplate: boolean): string {
  const { symbol, colour } = SHAPES[shape];
  const dashes = shape === 'off' ? ' stroke-dasharray="7.2 3.27"' : '';
  const stroke = (width: number, path: string) =>
    `<path d="${path}" fill="none" stroke="#111" stroke-width="${width}" stroke-linecap="round" stroke-linejoin="round"/>`;
  const ring = `<circle cx="16" cy="16" r="12" fill="none" stroke="#111" stroke-width="3"${dashes}/>`;
  const ground = `<circle cx="16" cy="16" r="15.4" fill="#fff"/><circle cx="16" cy="16" r="11" fill="${colour}"/>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${isTemplate ? '' : ground}${ring}${stroke(3.4, symbol)}</svg>`;
}

/** An 8-bit RGBA PNG with unfiltered rows, which the tests can read without a decoder. */
function png(size: number, rgba: Buffer): Buffer {
  const chunk = (type: string, data: Buffer): Buffer => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
    const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    check.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, check]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  header.set([8, 6, 0, 0, 0], 8);
  const rows = Array.from({ length: size }, (_, y) => [
    Buffer.from([0]),
    rgba.subarray(y * size * 4, (y + 1) * size * 4),
  ]).flat();
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.concat(rows), { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

const FILES = [
  { suffix: '', size: 32, isTemplate: false },
  { suffix: '@2x', size: 64, isTemplate: false },
  { suffix: 'Template', size: 18, isTemplate: true },
  { suffix: 'Template@2x', size: 36, isTemplate: true },
];

const page = await openPage('about:blank');
try {
  for (const shape of TRAY_SHAPES) {
    for (const { suffix, size, isTemplate } of FILES) {
      const base64 = await page.evaluate<string>(`(async () => {
        const image = new Image();
        image.src = 'data:image/svg+xml,' + ${JSON.stringify(encodeURIComponent(svg(shape, isTemplate)))};
        await image.decode();
        const canvas = new OffscreenCanvas(${size}, ${size});
        const context = canvas.getContext('2d');
        context.drawImage(image, 0, 0, ${size}, ${size});
        const { data } = context.getImageData(0, 0, ${size}, ${size});
        return btoa(String.fromCharCode(...data));
      })()`);
      await writeFile(
        join(ICONS, `${shape}${suffix}.png`),
        png(size, Buffer.from(base64, 'base64')),
      );
    }
  }
} finally {
  await closeBrowser();
}

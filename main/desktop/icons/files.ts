import { TRAY_SHAPES } from '../serving-summary.ts';
import { drawApp, drawTemplate, drawTwoTone, type Pixels } from './draw.ts';

/** Every icon file and what is drawn on it; `@2x` is Electron's name for the denser twin. */
export function iconFiles(): ReadonlyMap<string, () => Pixels> {
  const files = new Map<string, () => Pixels>([['app.png', () => drawApp(512)]]);
  for (const shape of TRAY_SHAPES) {
    files.set(`${shape}Template.png`, () => drawTemplate(shape, 18));
    files.set(`${shape}Template@2x.png`, () => drawTemplate(shape, 36));
    files.set(`${shape}.png`, () => drawTwoTone(shape, 32));
    files.set(`${shape}@2x.png`, () => drawTwoTone(shape, 64));
  }
  return files;
}

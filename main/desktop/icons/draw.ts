import type { TrayShape } from '../serving-summary.ts';

type Rgb = readonly [number, number, number];

/** How solid a drawing is at a point of the unit square, 0 to 1. */
type Drawing = (x: number, y: number) => boolean;

interface Layer {
  readonly drawing: Drawing;
  readonly color: Rgb;
}

/** Square RGBA pixels, row by row. */
export interface Pixels {
  readonly size: number;
  readonly rgba: Uint8Array;
}

const BLACK: Rgb = [0, 0, 0];
const INK: Rgb = [27, 27, 24];
const PAPER: Rgb = [255, 254, 250];
const GREEN: Rgb = [14, 125, 101];
const SAMPLES = 4;

/** A breaker seen from above: a ring with a bar across, with a lifted lever, or dashed and empty. */
function breaker(shape: TrayShape, grow: number): Drawing {
  const ring: Drawing = (x, y) => Math.abs(Math.hypot(x - 0.5, y - 0.5) - 0.36) < 0.055 + grow;
  switch (shape) {
    case 'closed':
      return (x, y) => ring(x, y) || segment(x, y, [0.33, 0.5, 0.67, 0.5]) < 0.065 + grow;
    case 'broken':
      return (x, y) =>
        ring(x, y) ||
        segment(x, y, [0.34, 0.63, 0.56, 0.37]) < 0.065 + grow ||
        Math.hypot(x - 0.67, y - 0.62) < 0.06 + grow;
    case 'off':
      return (x, y) => ring(x, y) && isDash(Math.atan2(y - 0.5, x - 0.5), grow);
  }
}

function isDash(angle: number, grow: number): boolean {
  const dashes = 6;
  const phase = (((angle / (2 * Math.PI)) * dashes) % 1) + 1;
  return Math.abs((phase % 1) - 0.5) < 0.3 + grow * 2;
}

/** Distance to the line from (x1, y1) to (x2, y2). */
function segment(
  x: number,
  y: number,
  [x1, y1, x2, y2]: readonly [number, number, number, number],
): number {
  const along = ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / ((x2 - x1) ** 2 + (y2 - y1) ** 2);
  const t = Math.min(1, Math.max(0, along));
  return Math.hypot(x - x1 - t * (x2 - x1), y - y1 - t * (y2 - y1));
}

function plate(x: number, y: number): boolean {
  const inset = 0.09;
  const radius = 0.2;
  const dx = Math.max(Math.abs(x - 0.5) - (0.5 - inset - radius), 0);
  const dy = Math.max(Math.abs(y - 0.5) - (0.5 - inset - radius), 0);
  return Math.hypot(dx, dy) < radius;
}

function shrunk(drawing: Drawing): Drawing {
  return (x, y) => drawing((x - 0.5) / 0.68 + 0.5, (y - 0.5) / 0.68 + 0.5);
}

/** For macOS, which recolours by alpha alone. */
export function drawTemplate(shape: TrayShape, size: number): Pixels {
  return paint(size, [{ drawing: breaker(shape, 0), color: BLACK }]);
}

/** Light with a dark edge: seen on a dark panel and on a light one. */
export function drawTwoTone(shape: TrayShape, size: number): Pixels {
  return paint(size, [
    { drawing: breaker(shape, 0.07), color: INK },
    { drawing: breaker(shape, 0), color: PAPER },
  ]);
}

/** The application's own icon. */
export function drawApp(size: number): Pixels {
  return paint(size, [
    { drawing: plate, color: PAPER },
    { drawing: shrunk(breaker('closed', 0)), color: GREEN },
  ]);
}

function paint(size: number, layers: readonly Layer[]): Pixels {
  const rgba = new Uint8Array(size * size * 4);
  for (let index = 0; index < size * size; index++) {
    let color: Rgb = BLACK;
    let alpha = 0;
    for (const layer of layers) {
      const cover = coverage(layer.drawing, size, index);
      if (cover === 0) continue;
      const total = cover + alpha * (1 - cover);
      const [r, g, b] = color;
      const mix = (over: number, under: number): number =>
        (over * cover + under * alpha * (1 - cover)) / total;
      color = [mix(layer.color[0], r), mix(layer.color[1], g), mix(layer.color[2], b)];
      alpha = total;
    }
    rgba.set([...color.map(Math.round), Math.round(alpha * 255)], index * 4);
  }
  return { size, rgba };
}

function coverage(drawing: Drawing, size: number, index: number): number {
  const column = index % size;
  const row = Math.floor(index / size);
  let hits = 0;
  for (let sample = 0; sample < SAMPLES * SAMPLES; sample++) {
    const x = (column + ((sample % SAMPLES) + 0.5) / SAMPLES) / size;
    const y = (row + (Math.floor(sample / SAMPLES) + 0.5) / SAMPLES) / size;
    if (drawing(x, y)) hits++;
  }
  return hits / SAMPLES ** 2;
}

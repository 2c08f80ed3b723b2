/** Curves as pictures: three panels side by side, sizes on a logarithmic axis. */

/** One curve; a size has one cost. */
export interface Line {
  readonly name: string;
  readonly points: readonly (readonly [size: number, cost: number])[];
}

export interface Panel {
  readonly title: string;
  readonly lines: readonly Line[];
}

export const THEMES = {
  light: { text: '#57606a', grid: '#d0d7de', lines: ['#0969da', '#bc4c00'] },
  dark: { text: '#9198a1', grid: '#3d444d', lines: ['#58a6ff', '#f0883e'] },
} as const;
export type Theme = keyof typeof THEMES;

const WIDTH = 860;
const HEIGHT = 210;
const PANEL = { width: 272, gap: 22, left: 40, right: 16, top: 42, bottom: 40 };

/** The greatest cost that the axis shows: a number that is easily halved. */
export function roundedUp(most: number): number {
  if (!(most > 0)) return 1;
  const unit = 10 ** Math.floor(Math.log10(most));
  const step = [1, 2, 4, 6, 8, 10].find((factor) => factor * unit >= most) ?? 10;
  return step * unit;
}

/** A number as short as an axis wants it: 20M, 5k, 0.5. */
export function axisText(value: number): string {
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(2))}M`;
  if (value >= 1000) return `${Number((value / 1000).toPrecision(2))}k`;
  return String(Number(value.toPrecision(2)));
}

const at = (value: number) => value.toFixed(1);

/** The picture of an axis of growth. */
export function picture(panels: readonly Panel[], sizeName: string, theme: Theme): string {
  const { text } = THEMES[theme];
  const drawn = panels.map((panel, index) => {
    const x = index * (PANEL.width + PANEL.gap);
    return `<g transform="translate(${x} 0)">${drawPanel(panel, sizeName, theme)}</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" font-family="system-ui, sans-serif" font-size="11" fill="${text}">`,
    ...drawn,
    '</svg>\n',
  ].join('\n');
}

function drawPanel({ title, lines }: Panel, sizeName: string, theme: Theme): string {
  const { grid, text, lines: colours } = THEMES[theme];
  const sizes = lines.flatMap(({ points }) => points.map(([size]) => size));
  const [least, greatest] = [Math.min(...sizes), Math.max(...sizes)];
  const most = roundedUp(
    Math.max(...lines.flatMap(({ points }) => points.map(([, cost]) => cost))),
  );
  const { width, left, right, top, bottom } = PANEL;
  const x = (size: number) =>
    left +
    ((width - left - right) * Math.log(size / least)) / Math.max(1e-9, Math.log(greatest / least));
  const y = (cost: number) => top + (HEIGHT - top - bottom) * (1 - cost / most);
  const level = (cost: number) =>
    `<path d="M${left} ${at(y(cost))}H${width - right}" stroke="${grid}"/>` +
    `<text x="${left - 5}" y="${at(y(cost) + 4)}" text-anchor="end">${axisText(cost)}</text>`;
  const mark = (size: number) =>
    `<text x="${at(x(size))}" y="${HEIGHT - bottom + 15}" text-anchor="middle">${axisText(size)}</text>`;
  const curve = ({ points }: Line, index: number) => {
    const colour = colours[index] ?? text;
    const path = points.map(([size, cost]) => `${at(x(size))} ${at(y(cost))}`).join('L');
    const dots = points.map(
      ([size, cost]) => `<circle cx="${at(x(size))}" cy="${at(y(cost))}" r="2.5"/>`,
    );
    return `<path d="M${path}" fill="none" stroke="${colour}" stroke-width="2"/><g fill="${colour}">${dots.join('')}</g>`;
  };
  const legend = lines.map(
    ({ name }, index) => `<tspan fill="${colours[index] ?? text}" dx="8">${name}</tspan>`,
  );
  return [
    `<text x="${left}" y="14" font-weight="600">${title}</text>`,
    `<text x="${left - 8}" y="30">${legend.join('')}</text>`,
    ...[0, most / 2, most].map(level),
    ...[...new Set(sizes)].map(mark),
    `<text x="${width - right}" y="${HEIGHT - 8}" text-anchor="end">${sizeName}</text>`,
    ...lines.map(curve),
  ].join('');
}

import { boundsTable, type Bound } from '../kit/bound.ts';
import { short, table, whole } from '../kit/table.ts';
import { AXES, growsFaster, unitCostsOf, type AxisName, type UnitCost } from './axis.ts';
import type { GrowthFigures } from './growth.ts';

/** The curves as tables, and what each says of one more. */
export function growthText(figures: GrowthFigures, bounds: readonly Bound[]): string {
  const parts = (Object.keys(figures) as AxisName[]).flatMap((name) =>
    Object.entries(figures[name] ?? {}).map(([measured, points]) => {
      const axis = AXES[name];
      const { cpu, memory } = unitCostsOf(axis, points);
      const cpuOf = axis.cpuPerUnit ? 'CPU µs per event' : `${axis.cpuName}, for 1,000 more`;
      const scale = axis.cpuPerUnit ? 1 : 1000;
      return [
        `${axis.title}: ${measured}`,
        table([
          [axis.sizeName, axis.cpuName, 'RSS, MB', 'late p99, ms', 'late most, ms'],
          ...points.map((point) => [
            point.size.toLocaleString('en'),
            point.cpu.toPrecision(3),
            whole(point.rssMb),
            short(point.lateP99Ms),
            short(point.lateMostMs),
          ]),
        ]),
        `${cpuOf}: ${steps(cpu, scale)}. KB of memory for one more: ${steps(memory, 1)}.`,
      ].join('\n');
    }),
  );
  return [...parts, boundsTable(bounds)].join('\n\n');
}

function steps(cost: UnitCost, scale: number): string {
  const { before, last } = cost;
  const written = (value: number) => (value * scale).toPrecision(3);
  const word = growsFaster(cost) ? ', GROWS FASTER THAN ITS WORK' : '';
  return `${written(before)}, then ${written(last)}${word}`;
}

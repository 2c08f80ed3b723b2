/**
 * `node --no-opt --no-maglev count-steps.ts MODULE`: prints how many steps each of the module's works takes, as JSON. V8
 * counts how often each block of our own code runs; what its own functions look through or copy is added in bytes. It
 * is a process of its own, because V8 counts blocks only of what is compiled later, and no call that it inlines.
 */
import { Session } from 'node:inspector/promises';
import { type Steps, TIMES, type Works } from './steps.ts';

const own = { bytes: 0 };
const sizeOf = (value: unknown) =>
  typeof value === 'string' || Array.isArray(value) || Buffer.isBuffer(value) ? value.length : 0;

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Adds what a call costs to what is counted. */
function count(
  of: object,
  names: readonly string[],
  cost: (self: unknown, args: readonly unknown[], result: unknown) => number,
): void {
  for (const name of names) {
    const native = Reflect.get(of, name) as Method;
    Reflect.set(of, name, function counted(this: unknown, ...args: unknown[]) {
      const result = native.apply(this, args);
      own.bytes += cost(this, args, result);
      return result;
    });
  }
}

/** As far as it had to look. */
const looked = (self: unknown, args: readonly unknown[], result: unknown) => {
  const from = typeof args[1] === 'number' ? args[1] : 0;
  const to = typeof result === 'number' && result >= 0 ? result : sizeOf(self);
  return Math.max(0, to - from);
};

for (const prototype of [Buffer.prototype, String.prototype, Array.prototype])
  count(prototype, ['indexOf', 'includes'], looked);
count(Buffer.prototype, ['toString'], (_self, _args, text) => sizeOf(text));
count(Buffer, ['from', 'concat'], (_self, _args, bytes) => sizeOf(bytes));
count(Object, ['keys', 'entries'], (_self, _args, list) => sizeOf(list));
count(JSON, ['parse'], (_self, [text]) => sizeOf(text));
count(JSON, ['stringify'], (_self, _args, text) => sizeOf(text));

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });

/** Of all blocks of our own code since the last call. */
async function blocksRun(): Promise<number> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const ours = result.filter(({ url }) => /\/(main|renderer|shared)\//.test(url));
  const ranges = ours.flatMap(({ functions }) => functions.flatMap((each) => each.ranges));
  return ranges.reduce((sum, range) => sum + range.count, 0);
}

async function stepsOf(work: () => void): Promise<number> {
  await blocksRun();
  own.bytes = 0;
  work();
  const { bytes } = own;
  return bytes + (await blocksRun());
}

const { WORKS } = (await import(process.argv[2] ?? '')) as { readonly WORKS: Works };
const counted: Record<string, Steps> = {};
for (const [name, { size, begin }] of Object.entries(WORKS)) {
  counted[name] = { few: await stepsOf(begin(size)), many: await stepsOf(begin(TIMES * size)) };
}
console.log(JSON.stringify(counted));

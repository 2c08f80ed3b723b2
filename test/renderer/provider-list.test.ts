import { expect, test } from 'vitest';
import type { Provider } from '#shared/provider.ts';
import {
  entriesOf,
  linesOf,
  matchesText,
  sorted,
  countsOf,
} from '../../renderer/features/providers/provider-listing.ts';
import { gpuTexts } from '../../renderer/features/providers/provider-facts.ts';
import * as t from '../../renderer/text/t.ts';
import { agentRecord, gpuDevice } from '../support/agent-record.ts';
import { circuit } from './builders.ts';
import { provider } from './provider-builders.ts';

const { host } = agentRecord();

function named(
  hostname: string,
  over: Partial<Provider> = {},
  status: 'serving' | 'idle' | 'paused' = 'serving',
) {
  return provider({ id: `prv_${hostname}`, ...over }, { host: { ...host, hostname }, status });
}

const MIXED = [
  named('gpu-10'),
  named('asleep', {}, 'paused'),
  named('gpu-9', {}, 'idle'),
  named('quiet', { status: 'stale' }),
];

const entries = (data: readonly Provider[], circuits: Parameters<typeof entriesOf>[1] = {}) =>
  entriesOf({ data: [...data] }, circuits);

/** In the order of the list that is shown first. */
const names = (data: readonly Provider[], circuits?: Parameters<typeof entriesOf>[1]) =>
  sorted(entries(data, circuits), 'state').map(({ name }) => name);

test('machines that need attention are listed first, then all by name with numbers as numbers', () => {
  expect(names(MIXED)).toEqual(['quiet', 'gpu-9', 'gpu-10', 'asleep']);
});

test('a machine does not change its place in the list with the requests that it gets', () => {
  const swapped = [named('gpu-10', {}, 'idle'), named('gpu-9')];
  expect(names(swapped)).toEqual(['gpu-9', 'gpu-10']);
});

test('an open circuit brings its machine to the top of the list', () => {
  const circuits = { 'prv_gpu-10': circuit({ open: true, consecutiveFails: 5 }) };
  expect(names([named('gpu-9'), named('gpu-10')], circuits)).toEqual(['gpu-10', 'gpu-9']);
});

test('this machine is marked in the list, and found by the words “this machine”', () => {
  const data = [named('vm'), named('vm', { id: 'prv_here' })];
  const marked = entriesOf({ data }, {}, { directId: null, hereId: 'prv_here' });
  expect(marked.map(({ isHere }) => isHere)).toEqual([false, true]);
  expect(marked.filter((one) => matchesText(one, 'this machine'))).toEqual([marked[1]]);
});

test('machines sorted by load begin with the busiest GPU, and one busy with one idle are not two at half', () => {
  const loaded = (hostname: string, ...loads: (number | null)[]) => {
    const devices = loads.map((util_gpu, index) => gpuDevice({ index, util_gpu }));
    const gpu = { ...agentRecord().gpu, count: loads.length, devices };
    return provider({ id: `prv_${hostname}` }, { host: { ...host, hostname }, gpu });
  };
  const eight = [0, 0, 97, 0, 0, 12, 0, 0];
  const machines = [
    loaded('steady', 60),
    loaded('unknown', null),
    loaded('two', 97, 0),
    loaded('eight', ...eight),
  ];
  const lines = sorted(entries(machines), 'load').map(({ name, provider: { gpu } }) => [
    name,
    gpuTexts({ gpu }).load,
  ]);
  expect(lines).toEqual([
    ['eight', '0–97%'],
    ['two', '97 · 0%'],
    ['steady', '60%'],
    ['unknown', '–'],
  ]);
  const capacity = { serving: 1, count: 1, models: 1, load: { lowest: 0, highest: 97 } };
  expect(t.overview.track.capacity(capacity)).toBe('1 model · GPU load 0–97%');
});

test('machines sorted by state have a heading for each group, and a group without a machine is left out', () => {
  const lines = linesOf(entries(MIXED), 'state');
  const order = lines.map((line) => (line.kind === 'group' ? line.group : line.entry.name));
  expect(order).toEqual(['attention', 'quiet', 'ready', 'gpu-9', 'gpu-10', 'resting', 'asleep']);
});

test('machines sorted by a figure have the highest first, the unknown last and no headings', () => {
  const hot = (name: string, temperature_c: number | null) =>
    named(name, { gpu: { ...agentRecord().gpu, devices: [gpuDevice({ temperature_c })] } });
  const machines = [hot('cool', 40), hot('unknown', null), hot('hot', 81)];
  const lines = linesOf(entries(machines), 'temperature');
  const byHeat = lines.map((line) => line.kind === 'machine' && line.entry.name);
  expect(byHeat).toEqual(['hot', 'cool', 'unknown']);
});

test('the owner’s name of a machine is shown before its host’s, and a search finds the name and the note', () => {
  const notes = { 'prv_gpu-9': { name: 'Attic', note: 'second fan' } };
  const [attic] = entriesOf({ data: [named('gpu-9')], notes }, {});
  expect(attic?.name).toBe('Attic');
  for (const text of ['attic', 'second', 'gpu-9'])
    expect(attic && matchesText(attic, text)).toBe(true);
});

test('a search finds names, chips, models and addresses of machines, in any order and case', () => {
  const [entry] = entries([named('tower')]);
  const found = (text: string) => entry && matchesText(entry, text);
  for (const text of ['', 'TOWER', '4090 tower', 'qwen3', '192.168.1.20', 'prv_tow'])
    expect(found(text)).toBe(true);
  expect(found('tower h200')).toBe(false);
});

test('the summary counts each machine once', () => {
  const summary = t.providers.summary(countsOf(entries(MIXED)));
  expect(summary).toBe('4 machines: 2 can serve, 1 needs attention, 1 signed off or held back.');
  expect(t.providers.summary(countsOf(entries([named('a')])))).toBe('1 machine: 1 can serve.');
  expect(t.providers.summary(countsOf([]))).toBe('None with a GPU yet.');
});

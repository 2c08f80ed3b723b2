import type { FactText } from '../../renderer/ui/facts.tsx';
import { expect, test } from 'vitest';
import {
  gatewayOf,
  joinNoteOf,
  validityText,
} from '../../renderer/features/providers/join-warning.tsx';
import {
  chipText,
  circuitFacts,
  type GpuDevice,
  heartbeatAge,
  machineFacts,
  metersOf,
  modelText,
  networkFacts,
  servingFacts,
  speedText,
} from '../../renderer/features/providers/provider-facts.ts';
import { routeOf } from '../../renderer/route.ts';
import { formatAge } from '../../renderer/text/format.ts';
import { agentRecord } from '../support/agent-record.ts';
import { circuit, NOW } from './builders.ts';
import { provider } from './provider-builders.ts';

const valueOf = (facts: readonly FactText[], label: string) =>
  facts.find((fact) => fact.label === label)?.value;

const blank = provider(
  {},
  {
    chip: null,
    chip_family: null,
    chip_tier: null,
    memory_gb: null,
    memory_bandwidth_gbs: null,
    gpu_cores: null,
    decode_tps: null,
    current_model: null,
    models: [],
    engine_model: null,
  },
);

test('an unknown fact on a machine is shown as unknown, never as zero', () => {
  const facts = [...machineFacts(blank), ...servingFacts(blank, undefined)];
  for (const label of ['Chip', 'Family', 'GPU memory', 'Bandwidth', 'GPU cores', 'Model files'])
    expect(valueOf(facts, label)).toBe('unknown');
  expect(valueOf(facts, 'Speed (reported)')).toBe('unknown');
  expect(valueOf(facts, 'First token')).toBe('not measured yet');
  expect(chipText(blank)).toBe('GPU unknown · memory unknown');
  expect(speedText(null)).toBe('–');
  expect(modelText(blank)).toBe('no model');
});

test('a chip is shown without its maker, and further models are counted', () => {
  expect(chipText(provider())).toBe('RTX 4090 · 24 GB');
  expect(modelText(provider({}, { models: ['qwen3-32b', 'b', 'c'] }))).toBe('qwen3-32b + 2');
  expect(modelText(provider({}, { current_model: null, models: ['b', 'c'] }))).toBe('2 models');
  expect(speedText(41.5)).toBe('41.5');
  expect(speedText(1234.5)).toBe('1,235');
});

test('a heartbeat of a machine is never from the future', () => {
  expect(heartbeatAge(provider(), NOW)).toBe('4 s ago');
  expect(heartbeatAge(provider(), NOW - 60_000)).toBe('0 s ago');
  expect(valueOf(networkFacts(provider(), NOW), 'Last report')).toBe('4 s ago');
});

test.each([
  [59_000, '59 s ago'],
  [60_000, '1 min ago'],
  [7_300_000, '2 h ago'],
  [200_000_000, '2 d ago'],
])('an age of %d ms is shown as %s', (ms, text) => {
  expect(formatAge(ms)).toBe(text);
});

const [device] = agentRecord().gpu.devices;
const shown = (over: Partial<GpuDevice>) => (device ? metersOf({ ...device, ...over }) : []);

test('a meter shows its figure and its share of the whole', () => {
  const [memory, busy, temperature] = shown({ memory_used_mb: 12_282 });
  expect(memory).toEqual({ label: 'Memory', text: '12 of 24 GB', share: 0.5 });
  expect(busy).toEqual({ label: 'Load', text: '3%', share: 0.03 });
  expect(temperature).toEqual({ label: 'Temperature', text: '41 °C', share: 0.41, isHot: false });
});

test('a meter shows an unknown figure as a word without a bar, and a total without its use', () => {
  const unknown = {
    memory_used_mb: null,
    memory_total_mb: null,
    util_gpu: null,
    temperature_c: null,
  };
  for (const meter of shown(unknown)) expect(meter).toMatchObject({ text: 'unknown', share: null });
  expect(shown({ memory_used_mb: null })[0]?.text).toBe('24 GB, use unknown');
  expect(shown({ memory_total_mb: null, memory_used_mb: 1024 })[0]?.text).toBe('1 GB used');
  expect(shown({ memory_total_mb: 0, memory_used_mb: 0 })[0]?.share).toBeNull();
});

const state = (open: boolean, cooldownRemainingMs: number, elapsedMs: number) =>
  valueOf(
    circuitFacts(circuit({ open, cooldownRemainingMs }), { elapsedMs, serverNow: NOW }),
    'State',
  );

test('the cool-down of a machine counts down from the report on', () => {
  expect(state(false, 0, 0)).toBe('healthy');
  expect(state(true, 42_000, 2_000)).toBe('skipped; retries in 40 s');
  expect(state(true, 42_000, 50_000)).toBe('skipped; retries next');
});

test.each([
  ['http://localhost:47900/', 'here-only'],
  ['http://127.0.0.1:47900', 'here-only'],
  ['http://[::1]:47900', 'here-only'],
  ['http://192.168.1.5:47900', 'unencrypted'],
  ['http://gateway.lan:47900', 'unencrypted'],
  ['http://100.128.0.1:47900', 'unencrypted'],
  ['https://gateway.lan', 'unencrypted'],
  ['http://100.64.0.9:47900', null],
  ['http://[fd7a:115c:a1e0::5]:47900', null],
  ['http://tower.tail1234.ts.net:47900', null],
  ['no address', null],
])('a join command for a gateway at %s has the note %s', (url, note) => {
  expect(joinNoteOf(url)).toBe(note);
});

test('the gateway’s address is found inside the join command', () => {
  expect(gatewayOf('inglenook join http://192.168.1.5:47900 0f0f')).toBe(
    'http://192.168.1.5:47900',
  );
  expect(gatewayOf('inglenook join')).toBeNull();
});

test('a join command counts down and then no longer works', () => {
  const at = new Date(NOW + 60_000).toISOString();
  expect(validityText(at, NOW)).toBe('1 min');
  expect(validityText(at, NOW + 60_000)).toBeNull();
});

test('an address without a known filter leads to a machine', () => {
  expect(routeOf('#/providers/prv_0f')).toEqual({ page: 'provider', id: 'prv_0f' });
  expect(routeOf('#/providers/ready')).toEqual({ page: 'providers', filter: 'ready' });
});

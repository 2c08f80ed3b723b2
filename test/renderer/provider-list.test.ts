import { describe, expect, test } from 'vitest';
import type { Provider } from '#shared/provider.ts';
import {
  entriesOf,
  groupsOf,
  matchesGroup,
  matchesText,
  summaryOf,
} from '../../renderer/features/providers/provider-listing.ts';
import { agentRecord } from '../support/agent-record.ts';
import { provider, providerCircuit } from './provider-builders.ts';

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

const names = (entries: ReturnType<typeof entriesOf>) =>
  entries.map(({ provider: { host: found } }) => found.hostname);

describe('the list of machines', () => {
  test('what needs attention comes first, then by name with numbers as numbers', () => {
    expect(names(entriesOf(MIXED, {}))).toEqual(['quiet', 'gpu-9', 'gpu-10', 'asleep']);
  });

  test('a machine does not change its place with the requests that it gets', () => {
    const swapped = [named('gpu-10', {}, 'idle'), named('gpu-9')];
    expect(names(entriesOf(swapped, {}))).toEqual(['gpu-9', 'gpu-10']);
  });

  test('an open breaker brings its machine to the top', () => {
    const circuits = { 'prv_gpu-10': providerCircuit({ open: true, consecutiveFails: 5 }) };
    expect(names(entriesOf([named('gpu-9'), named('gpu-10')], circuits))).toEqual([
      'gpu-10',
      'gpu-9',
    ]);
  });

  test('groups without a machine are left out, and rows beyond the limit are not drawn', () => {
    const groups = groupsOf(entriesOf(MIXED, {}), 2);
    expect(groups.map(({ group, entries }) => [group, entries.length])).toEqual([
      ['attention', 1],
      ['ready', 1],
    ]);
  });

  test('a filter keeps its own, and all keeps all', () => {
    const entries = entriesOf(MIXED, {});
    expect(names(entries.filter((entry) => matchesGroup(entry, 'resting')))).toEqual(['asleep']);
    expect(entries.every((entry) => matchesGroup(entry, 'all'))).toBe(true);
  });

  test('text finds names, chips, models and addresses, in any order and case', () => {
    const [entry] = entriesOf([named('tower')], {});
    const found = (text: string) => entry && matchesText(entry, text);
    for (const text of ['', 'TOWER', '4090 tower', 'qwen3', '192.168.1.20', 'prv_tow']) {
      expect(found(text)).toBe(true);
    }
    expect(found('tower h200')).toBe(false);
  });

  test('unknown fields match nothing', () => {
    const [entry] = entriesOf([provider({}, { chip: null, region: null })], {});
    expect(entry && matchesText(entry, 'null')).toBe(false);
  });

  test('the summary counts each machine once', () => {
    expect(summaryOf(entriesOf(MIXED, {}))).toBe(
      '4 machines: 2 can serve, 1 needs attention, 1 offline or paused.',
    );
    expect(summaryOf(entriesOf([named('a')], {}))).toBe('1 machine: 1 can serve.');
    expect(summaryOf([])).toBe('None yet.');
  });
});

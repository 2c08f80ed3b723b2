import { expect, test } from 'vitest';
import type { Check, Provider } from '#shared/provider.ts';
import {
  addressOf,
  checkGroups,
  checkTodo,
  entryText,
  groupOf,
  isRechecked,
  type ProviderCircuit,
  providerName,
  providerWords,
  standingOf,
} from '../../renderer/features/providers/provider-standing.ts';
import { circuit, NOW } from './builders.ts';
import { checks, provider, verification } from './provider-builders.ts';

const HEALTH = 'health /health status ok';

const refused: Check = {
  name: HEALTH,
  passed: false,
  latencyMs: 2,
  error: 'connection refused',
  detail: 'GET http://192.168.1.20:3001/health',
};
const unnamed: Check = {
  ...refused,
  error: 'name not found',
  detail: 'GET http://tower:47901/health',
};
const slow: Check = { name: 'latency <10s', passed: false, latencyMs: 12_000, error: 'took 12 s' };

const failedWith = (...entries: Check[]): Provider =>
  provider({ verification: verification({ status: 'failed', checks: checks(...entries) }) });

const words = (machine: Provider) => providerWords(standingOf(machine, undefined), NOW);

const down = provider(
  {},
  { status: 'degraded', engine_health: { status: 'unreachable', code: 0 } },
);

/** One machine of every standing that a person may meet. */
const MACHINES: Readonly<Record<string, readonly [Provider, ProviderCircuit?]>> = {
  serving: [provider()],
  idle: [provider({}, { status: 'idle' })],
  silent: [{ ...failedWith(refused), status: 'offline' }],
  stopped: [provider({ status: 'offline' }, { status: 'offline' })],
  paused: [provider({}, { status: 'paused' })],
  draining: [provider({}, { status: 'draining' })],
  unreachable: [failedWith(refused, unnamed)],
  'engine-down': [down],
  'check-failed': [failedWith(slow)],
  loading: [provider({}, { engine_health: { status: 'loading', code: 503 } })],
  verifying: [provider({ verification: verification({ status: 'verifying', checks: [] }) })],
  pending: [provider({ verification: verification({ status: 'pending', checks: [] }) })],
  wavering: [provider({ verification: verification({ checks: checks(slow) }) })],
  resting: [provider(), circuit({ open: true, consecutiveFails: 5, lastError: 'timeout' })],
};

test.each(Object.entries(MACHINES))('a machine is shown as %s', (kind, [machine, own]) => {
  expect(standingOf(machine, own).kind).toBe(kind);
});

test('a machine that is verified again after a change is ready while requests go to it', () => {
  const again = verification({ status: 'pending', routable: true, checks: [] });
  const machine = provider({ verification: again }, { status: 'idle' });
  expect(standingOf(machine, undefined).kind).toBe('idle');
});

test.each([
  ['unreachable', 'reaches nothing', refused],
  ['engine-down', 'gets a late answer', slow],
])('a machine whose engine is down is shown as %s if a check %s', (kind, _found, check) => {
  const both = { ...down, verification: failedWith(check).verification };
  expect(standingOf(both, undefined).kind).toBe(kind);
});

test('a machine that failed keeps its cause while it is verified again', () => {
  const machine = failedWith(refused);
  const again = {
    ...machine,
    verification: { ...machine.verification, status: 'verifying' as const },
  };
  const standing = standingOf(again, undefined);
  expect(standing.kind).toBe('unreachable');
  expect(isRechecked(again, standing)).toBe(true);
  const [fresh] = MACHINES['verifying'] ?? [];
  expect(fresh && isRechecked(fresh, standingOf(fresh, undefined))).toBe(false);
});

test('a machine without heartbeats is shown as silent, whatever was last known of it, with the time of the last one', () => {
  const machine = provider({
    status: 'stale',
    last_heartbeat: new Date(NOW - 70_000).toISOString(),
  });
  expect(words(machine).what).toMatch(/^No report since \d\d:\d\d:50\.$/);
});

test('an unreachable machine is shown with the address that was tried, and how it failed', () => {
  const { what, todo } = words(failedWith(refused, unnamed));
  expect(what).toContain('192.168.1.20:3001 (connection refused)');
  expect(what).toContain('tower:47901 (name not found)');
  expect(todo).toMatch(/firewall/);
});

test('a machine whose engine is down is shown with whether that answers at all', () => {
  expect(words(down).what).toBe('Its engine does not answer.');
  const bare = provider(
    {},
    { status: 'degraded', engine_health: { status: 'no engine found', code: 0 } },
  );
  expect(words(bare)).toMatchObject({ word: 'no engine', what: 'No engine was found.' });
  const sick = provider({}, { status: 'degraded', engine_health: { status: 'error', code: 500 } });
  expect(words(sick).what).toBe('Its engine answers HTTP 500 (error).');
});

test('a machine that is paused is shown with what it was paused for', () => {
  const said = providerWords(standingOf(provider(), circuit({ open: true })), NOW);
  expect(said.what).toBe('It was too slow several times in a row and is skipped for now.');
});

test('a machine that failed verification is shown with the check that failed', () => {
  const { what, todo } = words(failedWith(slow));
  expect(what).toBe('The check “Test answer in time” failed: took 12 s.');
  expect(todo).toBe(checkTodo('latency <10s'));
});

test('entries of one check are grouped, the check passes if one of them has, and the others are no fault then', () => {
  const entries = [refused, slow, { ...unnamed, passed: true }];
  const groups = checkGroups(entries);
  const outcomes = groups.map(({ name, outcome }) => [name, outcome]);
  expect(outcomes).toEqual([
    [HEALTH, 'passed'],
    ['latency <10s', 'failed'],
  ]);
  expect(groups[0]?.entries).toHaveLength(2);
  expect(entryText(refused, 'passed')).toBe('also tried: connection refused');
  expect(standingOf(failedWith(...entries), undefined).kind).toBe('check-failed');
});

test('a check that was not run has not failed', () => {
  const [group] = checkGroups([{ name: HEALTH, passed: false, error: 'check missing' }]);
  expect(group?.outcome).toBe('missing');
});

test.each([
  ['GET http://tower:47901/health', 'tower:47901'],
  ['https://[fd00::1]:3001/v1/chat/completions', '[fd00::1]:3001'],
  ['no address', null],
  [undefined, null],
])('the address in %j is %j', (detail, address) => {
  const check = { name: HEALTH, passed: true };
  expect(addressOf(detail === undefined ? check : { ...check, detail })).toBe(address);
});

test('a machine without a host name is named after its chip', () => {
  const machine = provider();
  expect(providerName(machine)).toBe('tower');
  const byChip = providerName({ chip: 'RTX 4090', host: { ...machine.host, hostname: ' ' } });
  expect(byChip).toBe('RTX 4090');
});

test('a machine that local calls directly is shown so, whatever the check of its agent says', () => {
  const standing = standingOf(failedWith(slow), undefined, true);
  expect(standing).toEqual({ kind: 'direct' });
  expect(groupOf(standing.kind)).toBe('ready');
  expect(providerWords(standing, NOW)).toMatchObject({ tone: 'green', word: 'used directly' });
  const again = provider({ verification: verification({ status: 'verifying' }) });
  expect(isRechecked(again, standingOf(again, undefined, true))).toBe(false);
});

test('a machine that local calls directly keeps a problem of its engine, and a better state', () => {
  for (const machine of [down, provider({}, { status: 'paused' }), provider()])
    expect(standingOf(machine, undefined, true)).toEqual(standingOf(machine, undefined));
});

test('a machine whose model has changed is shown as waiting for a test, and not as failed', () => {
  const failure_reason =
    'test inference returns choices: check missing; latency <10s: check missing';
  const said = (reason: string) => providerWords({ kind: 'pending', reason }, NOW).what;
  expect(said(failure_reason)).toBe('Another model is loaded; it is tested within a minute.');
  expect(said('latency <10s: too slow')).toBe('Waiting to be tested: latency <10s: too slow.');
});

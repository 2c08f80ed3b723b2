import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StatusReport } from '#shared/status.ts';
import { expect, test } from 'vitest';
import { chat } from '../support/client.ts';
import { controlOf } from '../support/control.ts';
import { startIn, temporaryDirectory } from '../support/gateway.ts';
import { startHost } from '../support/two-hosts.ts';
import { error, startUpstream } from '../support/upstream.ts';

type Settings = Readonly<Record<string, string>>;

/** A gateway on a data directory that outlives it. */
async function start({ DATA_DIR, ...settings }: Settings & { readonly DATA_DIR: string }) {
  const { url, host } = await startIn(DATA_DIR, { FAIL_THRESHOLD: '1', ...settings });
  const { status } = controlOf({ url, dataDirectory: DATA_DIR });
  return { url, status, stop: () => host.stop() };
}

/** Settings with which the first upstream is soon out by its circuit, and the second by a skip. */
async function learning() {
  const a = await startUpstream(error(503));
  const b = await startUpstream(error(402));
  const settings = {
    DATA_DIR: temporaryDirectory(),
    HOSTED_A_BASE_URL: a.url,
    HOSTED_A_API_KEY: 'sk-the-first-key-0123456789',
    HOSTED_B_BASE_URL: b.url,
  };
  return { a, b, settings };
}

async function startLearnt() {
  const { a, b, settings } = await learning();
  const gateway = await start(settings);
  await learn(gateway);
  return { a, b, settings, gateway };
}

async function learn({ url }: { readonly url: string }): Promise<void> {
  expect((await chat(url)).reason).toBe('hosted_a=http_503; hosted_b=quota');
}

/** What must be the same after a restart: all but what time and the process make of it. */
function learnt({ stats, upstreams }: StatusReport) {
  const { totalRequests, fallbackCount, perUpstream } = stats;
  const seen = upstreams.map(({ id, skips, circuit }) => {
    const { cooldownRemainingMs: _, ...rest } = circuit;
    return { id, skips, circuit: rest };
  });
  return { totalRequests, fallbackCount, perUpstream, seen };
}

const stateFile = ({ DATA_DIR }: { readonly DATA_DIR: string }) => join(DATA_DIR, 'state.json');

test('counters, circuits and skips outlast a stop, the next request fails nowhere twice, and another key begins afresh', async () => {
  const { a, b, settings, gateway } = await startLearnt();
  const before = await gateway.status();
  expect(before.upstreams[1]?.circuit.open).toBe(true);
  expect(before.upstreams[2]?.skips).toMatchObject([{ reason: 'quota' }]);
  await gateway.stop();
  const next = await start(settings);
  const after = await next.status();
  expect(learnt(after)).toEqual(learnt(before));
  const leftMs = (report: StatusReport) => report.upstreams[1]?.circuit.cooldownRemainingMs ?? 0;
  expect(leftMs(after)).toBeGreaterThan(0);
  expect(leftMs(after)).toBeLessThanOrEqual(leftMs(before));
  const asked = [a.calls.length, b.calls.length];
  // The circuit may be probed where everybody is out; the quota never is.
  expect((await chat(next.url)).reason).toBe('hosted_a=http_503; hosted_b=quota');
  expect([a.calls.length, b.calls.length]).toEqual([(asked[0] ?? 0) + 1, asked[1]]);
  expect((await next.status()).stats.totalRequests).toBe(2);

  // Another key drops what was known of that upstream alone, and none is in the file.
  await next.stop();
  expect(readFileSync(stateFile(settings), 'utf8')).not.toMatch(/the-first-key/);
  const keyed = await start({ ...settings, HOSTED_A_API_KEY: 'sk-the-second-key-0123456789' });
  const { upstreams, stats } = await keyed.status();
  expect(upstreams[1]).toMatchObject({ healthy: true, circuit: { open: false, fails: 0 } });
  expect(upstreams[2]?.skips).toMatchObject([{ reason: 'quota' }]);
  expect(stats.totalRequests).toBe(2);
});

test('what was learned just before a kill is known after it', async () => {
  const { settings } = await learning();
  const gateway = await startHost({ FAIL_THRESHOLD: '1', ...settings });
  await learn(gateway);
  const kept = () => {
    try {
      return readFileSync(stateFile(settings), 'utf8');
    } catch {
      return '';
    }
  };
  const before = await gateway.status();
  await expect.poll(kept, { interval: 20 }).toContain('"quota"');
  gateway.cli.kill('SIGKILL');
  await gateway.cli.ended;
  const next = await startHost({ FAIL_THRESHOLD: '1', ...settings });
  expect(learnt(await next.status())).toEqual(learnt(before));
});

test.each([
  ['cut off', (text: string) => text.slice(0, text.length / 2)],
  ['empty', () => ''],
  [
    'of another shape',
    () => '{"version":1,"circuits":{"local":7},"identities":[],"totalRequests":-1}',
  ],
  ['of a newer version', (text: string) => text.replace('"version":1', '"version":99')],
])('a state file that is %s starts afresh', async (_, damage) => {
  const { settings, gateway } = await startLearnt();
  await gateway.stop();
  writeFileSync(stateFile(settings), damage(readFileSync(stateFile(settings), 'utf8')));
  const next = await start(settings);
  const { upstreams, stats } = await next.status();
  expect(stats).toMatchObject({ totalRequests: 0, fallbackCount: 0 });
  expect(upstreams[1]).toMatchObject({ healthy: true });
  // It serves, learns and keeps again.
  await chat(next.url);
  await next.stop();
  const kept = JSON.parse(readFileSync(stateFile(settings), 'utf8')) as unknown;
  expect(kept).toMatchObject({ counters: { totalRequests: 1 } });
});

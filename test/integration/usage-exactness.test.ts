import { expect, test } from 'vitest';
import type { HistoryReport } from '#shared/usage.ts';
import { chance } from '../support/chance.ts';
import { HELLO, startChat } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import {
  chunk,
  completion,
  cut,
  DONE,
  error,
  json,
  ROLE,
  type Script,
  sse,
  stall,
  startUpstream,
  STOP,
} from '../support/upstream.ts';
import { history, usageChunk, usageOf } from '../support/usage.ts';

/** As many as the gate has time for. */
const EXCHANGES = 300;
const AT_ONCE = 20;

test('the counted tokens are exactly the sum of what upstreams reported, whatever becomes of the exchanges', async () => {
  const random = chance(18);
  const below = (n: number) => Math.floor(random() * n);
  const reported = { input: 0, output: 0, calls: 0 };

  function told(): [prompt: number, output: number] {
    const figures: [number, number] = [below(5000), below(500)];
    reported.input += figures[0];
    reported.output += figures[1];
    return figures;
  }

  /** The first call of an exchange meets what its number says; one that carries on an answer ends it. */
  const script: Script = (call) => {
    reported.calls += 1;
    const kind = call.headers['x-request-id'] ?? 'whole';
    const isSecond = seen.has(keyOf(call));
    seen.add(keyOf(call));
    if (call.json['stream'] !== true) {
      return json(200, { ...completion('hi'), usage: usageOf(...told()) })(call);
    }
    const begun = [ROLE, chunk({ content: 'one ' }), chunk({ content: 'two' })] as const;
    if (!isSecond && kind === 'cut') return cut(...begun)(call);
    if (!isSecond && kind === 'silent') {
      setTimeout(() => error(503)(call), 100);
      return;
    }
    if (!isSecond && kind === 'cancel') return stall(...begun)(call);
    if (!isSecond && kind === 'refused') return error(503)(call);
    // A hedge that a busy machine is too early with.
    if (isSecond && kind === 'prompt') return stall(ROLE)(call);
    if (kind === 'untold') return sse(...begun, STOP, DONE)(call);
    return sse(...begun, STOP, usageChunk(...told()), DONE)(call);
  };
  const seen = new Set<string>();
  const keyOf = (call: { readonly json: Record<string, unknown> }) =>
    JSON.stringify(call.json['user']);

  const [a, b] = await Promise.all([startUpstream(script), startUpstream(script)]);
  const settings = {
    HOSTED_A_BASE_URL: a.url,
    HOSTED_B_BASE_URL: b.url,
    HOSTED_A_PREFILL: 'last-message',
    HOSTED_B_PREFILL: 'last-message',
    FAIL_THRESHOLD: '1000000',
    TTFT_SLOW_THRESHOLD: '1000000',
  };
  const steady = await startGateway({ ...settings, HEDGE: 'off' });
  const hedging = await startGateway({ ...settings, TTFT_THRESHOLD_MS: '20' });
  const steadyKinds = ['told', 'told', 'whole', 'cut', 'cancel', 'refused', 'untold'];
  const hedgedKinds = ['prompt', 'silent'];

  async function exchange(n: number): Promise<void> {
    const gateway = n % 10 === 0 ? hedging : steady;
    const kinds = gateway === hedging ? hedgedKinds : steadyKinds;
    const kind = kinds[below(kinds.length)] ?? 'told';
    const isStream = kind !== 'whole';
    const body = { ...HELLO, model: 'm', user: `${n}`, stream: isStream };
    const asks = random() < 0.5 && isStream ? { stream_options: { include_usage: true } } : {};
    const pending = startChat(gateway.url, { ...body, ...asks }, { 'x-request-id': kind });
    if (kind !== 'cancel') return void (await pending.answer);
    await pending.received('two');
    pending.leave();
  }

  let next = 0;
  const worker = async () => {
    while (next < EXCHANGES) {
      next += 1;
      await exchange(next);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  for (const { host } of [steady, hedging]) {
    await expect.poll(() => host.snapshot().status.admission.running).toBe(0);
  }

  const reports = await Promise.all([steady, hedging].map(({ url }) => history(url)));
  type Of = (figures: HistoryReport['today']) => number;
  const seenByCallers = (of: Of) => reports.reduce((total, { today }) => total + of(today), 0);
  const seenAtUpstreams = (of: Of) =>
    reports.flatMap(({ parts }) => parts).reduce((total, { figures }) => total + of(figures), 0);
  for (const sum of [seenByCallers, seenAtUpstreams]) {
    const all: Of = (each) => each.inputTokens + each.outputTokens - each.estimatedTokens;
    expect(sum(all)).toBe(reported.input + reported.output);
  }
  expect(seenByCallers(({ calls }) => calls)).toBe(EXCHANGES);
  expect(seenAtUpstreams(({ calls }) => calls)).toBe(reported.calls);
  for (const { today } of reports) expect(today.estimatedTokens).toBeGreaterThan(0);
}, 130_000);

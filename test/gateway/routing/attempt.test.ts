import { expect, test } from 'vitest';
import type { AttemptCause } from '#shared/live.ts';
import { loadConfig } from '../../../main/config/load.ts';
import { createCircuits } from '../../../main/gateway/circuits/circuits.ts';
import { createLatencies, createStats } from '../../../main/gateway/monitoring/counters.ts';
import { createRequestLogs } from '../../../main/gateway/monitoring/request-log.ts';
import { Attempt } from '../../../main/gateway/routing/attempt.ts';
import { createTraffic } from '../../../main/gateway/monitoring/traffic.ts';
import { createUsageRecorder } from '../../../main/gateway/usage/recorder.ts';
import { forgetfulStore } from '../../../main/gateway/usage/store.ts';
import { TRANSCRIPTIONS } from '../../../main/gateway/protocols/endpoints.ts';
import { formRequest } from '../../../main/gateway/protocols/chat-request.ts';
import { localCall } from '../../../main/gateway/upstream/call.ts';
import { parseBaseAddress } from '../../../main/gateway/upstream/upstreams.ts';
import { createPrefixes } from '../../../main/gateway/routing/prefixes.ts';
import { createPredictions } from '../../../main/gateway/routing/predictions.ts';
import { createWindows } from '../../../main/gateway/routing/windows.ts';
import { silentLog } from '../../../main/platform/log.ts';
import { createManualClock } from '../../support/clock.ts';
import { UNWATCHED } from '../../support/circuits.ts';
import { chatCall } from '../../support/chat-call.ts';

const LOADED = loadConfig({}, {});
if (LOADED.kind === 'refused') throw new Error('the defaults are refused');
const { config: CONFIG } = LOADED;

const MACHINE = 'prv_a';
const LONG = 100_000;
/** So long what was predicted is believed without a first token. */
const BELIEVED_MS = 60_000;
const LIMITS = {
  failThreshold: 5,
  cooldownMs: 60_000,
  ttftThresholdMs: 5000,
  ttftSlowThreshold: 3,
};

test.each<[cause: AttemptCause, isBelieved: boolean]>([
  ['turn', true],
  // It may have had less time than the slow line.
  ['hedge', false],
])('a race lost in a %s confirms the prediction of slowness: %s', (cause, isBelieved) => {
  const clock = createManualClock();
  const predictions = createPredictions(clock);
  for (let n = 1; n <= 20; n += 1) predictions.sample(MACHINE, n * 1000, n * 100);
  const random = () => 0.5;
  const circuits = createCircuits({
    clock,
    random,
    config: () => ({ circuit: LIMITS }),
    ...UNWATCHED,
    opened() {},
  });
  const stats = createStats();
  const latencies = createLatencies(clock);
  const logs = createRequestLogs({
    clock,
    stats,
    outcomes: { ended() {} },
    latencies,
    log: silentLog,
    routed() {},
    nameOf: () => null,
    listener: { isWatched: false, requestChanged() {}, requestRemoved() {} },
    usage: createUsageRecorder(forgetfulStore('kept nowhere'), {
      clock,
      config: () => CONFIG,
      budgets: { spent() {}, swap() {} },
      joulesPerToken: () => null,
      keyLimits: { requested() {}, used() {} },
    }),
    traffic: createTraffic(),
    unsaved() {},
    earlier: [],
  });
  clock.advance(BELIEVED_MS + 1);
  const observer = logs.begin({
    id: 'r',
    upstreamPath: '/chat/completions',
    model: null,
    stream: true,
    caller: null,
    key: null,
  });
  const request = formRequest(Buffer.from(''), TRANSCRIPTIONS, 'multipart/form-data');
  const asked = chatCall(request);
  const baseAddress = parseBaseAddress('http://machine.test', 'local');
  const machine = {
    provider: MACHINE,
    baseAddress,
    models: ['m'],
    ownedBy: null,
    gatewayToken: '',
  };
  const sent = localCall(asked, machine, CONFIG, 1);
  const target = { ...sent, mode: 'relay', promptBytes: LONG } as const;
  const own = { id: MACHINE, permit: { serial: 0 } };
  const permits = { own, pool: null };
  const pending = { sentAt: clock.ticks(), hasLeft: () => true };
  const attempt = new Attempt({ target, permits, cause, engineCall: null, pending }, observer, {
    clock,
    circuits,
    predictions,
    windows: createWindows(clock),
    prefixes: createPrefixes(clock),
  });
  clock.advance(5000);
  attempt.end({ kind: 'outrun' });
  expect((predictions.at(MACHINE, LONG)?.earliestMs ?? 0) > 0).toBe(isBelieved);
  expect(stats.inFlightAt(MACHINE)).toBe(0);
});

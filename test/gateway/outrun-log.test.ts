import { expect, test } from 'vitest';
import type { AttemptCause } from '#shared/live.ts';
import { createCircuits } from '../../main/gateway/circuit/circuits.ts';
import { createPredictions } from '../../main/gateway/local/predictions.ts';
import { createLatencies } from '../../main/gateway/watch/latencies.ts';
import { createRequestLogs } from '../../main/gateway/watch/request-log.ts';
import { createStats } from '../../main/gateway/watch/stats.ts';
import { silentLog } from '../../main/platform/log.ts';
import { createManualClock } from '../support/clock.ts';

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
])(
  'to be outrun in a %s says of a machine that it is as slow as believed: %s',
  (cause, isBelieved) => {
    const clock = createManualClock();
    const predictions = createPredictions(clock);
    for (let n = 1; n <= 20; n += 1) predictions.sample(MACHINE, n * 1000, n * 100);
    const random = () => 0.5;
    const circuits = createCircuits({
      clock,
      random,
      limits: () => LIMITS,
      changed() {},
      opened() {},
    });
    const stats = createStats();
    const latencies = createLatencies(clock);
    const logs = createRequestLogs(
      { clock, stats, circuits, latencies, predictions, log: silentLog, routed() {} },
      { changed() {}, removed() {} },
    );
    clock.advance(BELIEVED_MS + 1);
    const log = logs.begin({ id: 'r', model: null, stream: true });
    const asked = {
      upstream: 'local',
      provider: MACHINE,
      promptBytes: LONG,
      mode: 'relay',
    } as const;
    const own = { id: MACHINE, ticket: { serial: 0 } };
    log.startAttempt(asked, { own, tier: null }, cause);
    clock.advance(5000);
    log.outrun(asked);
    expect((predictions.at(MACHINE, LONG)?.earliestMs ?? 0) > 0).toBe(isBelieved);
    expect(stats.inFlightAt(MACHINE)).toBe(0);
  },
);

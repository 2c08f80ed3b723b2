import { diag } from '@opentelemetry/api';
import { expect, onTestFinished, test } from 'vitest';
import { NO_TRACING, openTracing } from '../../../main/gateway/monitoring/tracing.ts';
import type { RequestObserver } from '../../../main/gateway/routing/observer.ts';
import { createManualClock } from '../../support/clock.ts';

const GENERAL = 'OTEL_EXPORTER_OTLP_ENDPOINT';
const OF_TRACES = 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT';
const UNTRACED: RequestObserver = {
  traceparent: null,
  attemptStarted: () => ({
    traceparent: null,
    polled() {},
    answering() {},
    relayed() {},
    ended() {},
  }),
  answering() {},
  ended() {},
};
/** Nothing is sent there: no span ends. */
const ADDRESS = 'http://127.0.0.1:9';

async function opened(env: Readonly<Record<string, string>>) {
  const lines: string[] = [];
  const log = (...line: unknown[]) => void lines.push(JSON.stringify(line));
  const tracing = await openTracing(env, { clock: createManualClock(), log });
  onTestFinished(async () => {
    await tracing.close();
    diag.disable();
  });
  return { tracing, lines };
}

test.each<[on: boolean, env: Readonly<Record<string, string>>]>([
  [true, { [GENERAL]: ADDRESS }],
  [true, { [GENERAL]: ADDRESS, [OF_TRACES]: '' }],
  [true, { [GENERAL]: ADDRESS, [OF_TRACES]: '  ' }],
  [true, { [GENERAL]: '', [OF_TRACES]: ADDRESS }],
  [true, { [GENERAL]: ADDRESS, OTEL_SDK_DISABLED: '', OTEL_TRACES_EXPORTER: '' }],
  [false, {}],
  [false, { [GENERAL]: '', [OF_TRACES]: ' ' }],
  [false, { [GENERAL]: ADDRESS, OTEL_SDK_DISABLED: 'True' }],
  [false, { [GENERAL]: ADDRESS, OTEL_TRACES_EXPORTER: 'none' }],
])(
  'an empty variable of OpenTelemetry is one that is not set: tracing is on (%s) with %j',
  async (on, env) => {
    const { tracing } = await opened(env);
    expect(tracing !== NO_TRACING).toBe(on);
  },
);

test.each([
  { OTEL_TRACES_SAMPLER: '', OTEL_TRACES_SAMPLER_ARG: '' },
  { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '' },
])(
  'an empty sampler variable of OpenTelemetry is one that is not set: a trace is sampled with %j',
  async (env) => {
    const { tracing, lines } = await opened({ [GENERAL]: ADDRESS, ...env });
    const request = { id: 'r', upstreamPath: '/chat/completions', model: null, stream: false };
    const observed = tracing.follow({ ...request, headers: {} }, UNTRACED);
    expect([observed.traceparent?.(), lines]).toEqual([expect.stringMatching(/-01$/), []]);
  },
);

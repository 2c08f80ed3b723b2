import { HOSTED_IDS, UPSTREAM_IDS } from '#shared/ids.ts';
import type { Field, Row, Section } from './field.ts';
import { AGENT_ROWS, GATEWAY_ROWS } from './program-rows.ts';
import { PREFILL_ROW, TWICE_ROWS } from './routing-rows.ts';
import { RULE_ROWS } from './rule-rows.ts';

function section(id: string, prefix: string, rows: readonly Row[]): Section {
  const upstream = UPSTREAM_IDS.find((known) => known === id) ?? null;
  const fields = rows.map((row) => ({
    ...row,
    section: id,
    path: `${id}.${row.key}`,
    env: `SWITCHYARD_${prefix}${row.env}`,
  }));
  return { id, upstream, fields };
}

/** What is set for every hosted upstream and for `ondemand`. */
function remoteRows(address: string, timeoutMs: number): readonly Row[] {
  return [
    {
      key: 'baseUrl',
      kind: 'address',
      label: 'Base URL',
      hint: `Such as ${address}`,
      env: 'BASE_URL',
      fallback: null,
    },
    {
      key: 'apiKey',
      kind: 'secret',
      label: 'API key',
      hint: 'Kept by the gateway and never shown again.',
      env: 'API_KEY',
      fallback: null,
    },
    {
      key: 'model',
      kind: 'text',
      label: 'Model',
      hint: 'Asked for here, whatever the caller names. Empty: the caller’s.',
      env: 'MODEL',
      fallback: null,
    },
    {
      key: 'label',
      kind: 'text',
      label: 'Name',
      hint: 'What this window calls it.',
      env: 'LABEL',
      fallback: null,
    },
    {
      key: 'timeoutMs',
      kind: 'milliseconds',
      label: 'Time-out',
      hint: 'For the first token; then the next one is asked.',
      env: 'TIMEOUT_MS',
      fallback: timeoutMs,
    },
    {
      key: 'headers',
      kind: 'headers',
      label: 'More headers',
      hint: 'A JSON object; it replaces all that are set.',
      env: 'HEADERS',
      fallback: null,
    },
    {
      key: 'assemble',
      kind: 'flag',
      label: 'Stream behind whole answers',
      hint: 'A break then shows early, and the next one is asked.',
      env: 'ASSEMBLE',
      fallback: true,
    },
    PREFILL_ROW,
  ];
}

const LOCAL = section('local', 'LOCAL_', [
  {
    key: 'baseUrl',
    kind: 'address',
    label: 'Engine address',
    hint: 'Such as http://127.0.0.1:11434 for Ollama.',
    env: 'ENGINE_URL',
    fallback: null,
  },
  {
    key: 'timeoutMs',
    kind: 'milliseconds',
    label: 'Time-out',
    hint: 'For the first token; then the next one is asked.',
    env: 'TIMEOUT_MS',
    fallback: 60_000,
  },
  PREFILL_ROW,
]);

const HOSTED = HOSTED_IDS.map((id) =>
  section(id, `${id.toUpperCase()}_`, remoteRows('https://api.example.com/v1', 30_000)),
);

const ONDEMAND = section('ondemand', 'ONDEMAND_', [
  ...remoteRows('https://gpu.example.com, without /v1', 120_000),
  {
    key: 'warmup',
    kind: 'flag',
    label: 'Warm up when local fails',
    hint: 'Off: it starts cold, once its turn comes.',
    env: 'WARMUP',
    fallback: true,
  },
]);

const CIRCUIT = section('circuit', '', [
  {
    key: 'failThreshold',
    kind: 'count',
    label: 'Failures in a row',
    hint: 'So many open an upstream’s breaker.',
    env: 'FAIL_THRESHOLD',
    fallback: 5,
  },
  {
    key: 'cooldownMs',
    kind: 'milliseconds',
    label: 'Cool-down',
    hint: 'Then one request tries it again.',
    env: 'COOLDOWN_MS',
    fallback: 60_000,
  },
  {
    key: 'ttftThresholdMs',
    kind: 'milliseconds',
    label: 'Slow from',
    hint: 'A first token later than this is slow.',
    env: 'TTFT_THRESHOLD_MS',
    fallback: 5_000,
  },
  {
    key: 'ttftSlowThreshold',
    kind: 'count',
    label: 'Slow answers in a row',
    hint: 'So many open the breaker as well.',
    env: 'TTFT_SLOW_THRESHOLD',
    fallback: 3,
  },
]);

const ROUTING = section('routing', '', [
  {
    key: 'forceZero',
    kind: 'flag',
    label: 'Never spend money',
    hint: 'Only Local is asked; the others are switched off.',
    env: 'FORCE_ZERO',
    fallback: false,
  },
  {
    key: 'idleTimeoutMs',
    kind: 'milliseconds',
    label: 'Longest silence',
    hint: 'An answer that falls silent for longer is ended.',
    env: 'IDLE_TIMEOUT_MS',
    fallback: 30_000,
  },
  {
    key: 'healthChecks',
    kind: 'flag',
    label: 'Check open upstreams',
    hint: 'An upstream that answers a health check again gets the next request, without waiting out its pause.',
    env: 'HEALTH_CHECKS',
    fallback: true,
  },
  {
    key: 'retryAfterMaxMs',
    kind: 'milliseconds',
    label: 'Rate limit waited out',
    hint: 'A longer wait than this goes to the next one.',
    env: 'RETRY_AFTER_MAX_MS',
    fallback: 2_000,
  },
  ...TWICE_ROWS,
]);

/** The upstreams in the order in which they are asked, then the rules, then the program itself. */
export const SECTIONS: readonly Section[] = [
  LOCAL,
  ...HOSTED,
  ONDEMAND,
  CIRCUIT,
  ROUTING,
  section('agent', '', [...AGENT_ROWS, ...RULE_ROWS]),
  section('gateway', '', GATEWAY_ROWS),
];

/** The field of a path; the path is one that this file names. */
export function fieldAt(path: string): Field {
  const found = SECTIONS.flatMap(({ fields }) => fields).find((field) => field.path === path);
  if (!found) throw new Error(`there is no setting ${path}`);
  return found;
}

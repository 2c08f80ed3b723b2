import type { SETTINGS } from '../main/config/schema.ts';

/** A sentence for each setting; one without a sentence does not compile. */
type Meanings = {
  readonly [Section in keyof typeof SETTINGS]: {
    readonly [Key in keyof (typeof SETTINGS)[Section]]: string;
  };
};

const remote = {
  apiKey: 'Key sent to this upstream as a bearer token.',
  model: "Model id sent to this upstream. None: the caller's.",
  label: 'Name shown in the window.',
  headers: 'Extra headers for this upstream, such as an organisation id.',
  timeoutMs: 'Longest wait for the first content; then the next upstream is called.',
  assemble:
    'Call the upstream with a stream even for plain requests, and put the JSON answer together from it: failures show early.',
  prefill:
    'How this upstream is asked to continue a partial answer; see [routing.md](routing.md#after-a-cut).',
};

const hosted = {
  ...remote,
  baseUrl: 'Base URL of the API; `/chat/completions` is appended.',
};

export const MEANINGS: Meanings = {
  local: {
    baseUrl:
      "Address of the engine that serves `local`; a trailing `/v1` is dropped. None: the registry's machines serve it.",
    timeoutMs: 'Longest wait for the first content; then the next upstream is called.',
    prefill:
      'How the engine is asked to continue a partial answer; `auto` recognises vLLM, SGLang and llama.cpp. See [routing.md](routing.md#after-a-cut).',
  },
  hosted_a: hosted,
  hosted_b: hosted,
  hosted_c: hosted,
  ondemand: {
    ...remote,
    baseUrl: 'Address of the GPU that starts on demand; `/v1/chat/completions` is appended.',
    timeoutMs: 'Longest wait for the first content, a cold start included.',
    warmup: 'Start it in the background when `local` fails.',
  },
  circuit: {
    failThreshold: "Failures in a row that open an upstream's circuit.",
    cooldownMs: 'How long an open circuit skips its upstream before one request probes it.',
    ttftThresholdMs: 'A first token later than this is slow.',
    ttftSlowThreshold: 'Slow first tokens in a row that open the circuit.',
  },
  routing: {
    forceZero: 'Never spend money: only `local` is called.',
    idleTimeoutMs: 'Longest silence inside an answer.',
    healthChecks:
      'Look at an upstream whose circuit is open by its health or models route, so that it is used again as soon as it is well.',
    retryAfterMaxMs: 'Longest `Retry-After` of a hosted upstream that is waited for.',
    hedge:
      'Who may be called beside a slow call. `own`: your machines back up each other, paid upstreams back up each other; `all`: also a paid upstream beside `local`; `off`: none.',
    hedgeMs:
      'How long a call may stay without content before a second one starts. None: `SWITCHYARD_TTFT_THRESHOLD_MS`.',
    hedgeBudget:
      'Share of the last 200 requests that may be hedged; as many as `SWITCHYARD_TTFT_SLOW_THRESHOLD` always may.',
    resume: 'Which upstreams may continue a dropped stream: those with the same model, any, none.',
  },
  agent: {
    enabled: 'Run the agent of this machine.',
    host: 'Address the agent listens on; `join` sets the one the gateway can reach.',
    ports: 'Ports the agent listens on.',
    engineUrl: 'Engine that the agent serves. None: found automatically.',
    registryUrl: 'Gateway that the agent reports to. None: the registry in this process.',
    enrollToken: 'Single-use token that enrols the agent there.',
    heartbeatMs: 'Time between two heartbeats.',
    region: 'Label shown with this machine.',
    onlyWhenIdle: 'Take no requests until nobody has used the machine for 5 minutes.',
    notOnBattery: 'Take no requests on battery power.',
    maxGpuTemperatureC: 'Take no requests while a GPU is this hot; resume 5 °C below.',
    yieldToOthers: 'Take no requests while another program has kept the GPU busy for 5 s.',
  },
  gateway: {
    host: 'Address the gateway listens on; `127.0.0.1` includes `::1`. Any address beyond loopback needs `SWITCHYARD_API_KEYS`.',
    port: 'Port of the gateway and its window.',
    allowedHosts: 'More `Host` names to accept.',
    allowedOrigins: 'Web pages that may call the gateway from a browser.',
    apiKeys: 'Keys for callers and readers. None: everyone on this machine may call.',
    maxBodyBytes: 'Largest request body.',
    maxBodiesInFlightBytes:
      'memory for the bodies of all requests in flight, each counted twice; beyond it 503 with `Retry-After`',
    logLevel: 'How much is written to the log.',
  },
};

import { UPSTREAM_IDS } from '#shared/ids.ts';

/** The owner's rules: label, when it serves again, and why the rule may have no effect. */
export const rules = {
  onlyWhenIdle: {
    label: 'Hold back while in use',
    hint: 'It serves again after 5 minutes without keyboard or mouse input.',
    unsupported: 'this machine does not report when it was last used',
  },
  notOnBattery: {
    label: 'Hold back on battery',
    hint: 'It serves again once it is plugged in.',
    unsupported: 'this machine does not report its power source',
  },
  maxGpuTemperatureC: {
    label: 'Hold back at a GPU temperature',
    hint: 'It serves again 5 °C below that.',
    unsupported: 'no GPU here reports its temperature',
  },
  yieldToOthers: {
    label: 'Hold back while another program has the GPU',
    hint: 'It serves again once the GPU has been quiet for 30 s.',
    unsupported: 'no GPU here reports its load',
  },
  freeMemory: {
    label: 'Free the memory too',
    hint: 'A rule that holds it back also unloads its models, except the one about heat.',
    unsupported: '',
  },
  idleUnloadMin: {
    label: 'Unload idle models',
    hint: 'For llama.cpp’s router and llama-swap; Ollama, LM Studio and Docker do it themselves.',
    unsupported: '',
  },
};

const UPSTREAM_LABELS: Readonly<Record<string, string>> = {
  baseUrl: 'Base URL',
  apiKey: 'API key',
  model: 'Model',
  models: 'Other models',
  label: 'Name',
  timeoutMs: 'First-token timeout',
  headers: 'Extra headers (JSON)',
  assemble: 'Always stream',
  prefill: 'Can continue a partial answer',
  protocols: 'Serves Responses and Messages',
  rescueToolCalls: 'Repair tool calls left in the text',
  warmup: 'Start when your GPUs fail',
  priceInput: 'Input price',
  priceOutput: 'Output price',
  priceCached: 'Cached input price',
  budgetDay: 'Daily budget',
  budgetMonth: 'Monthly budget',
};

export const settingLabels: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ...Object.fromEntries(UPSTREAM_IDS.map((id) => [id, UPSTREAM_LABELS])),
  local: { ...UPSTREAM_LABELS, baseUrl: 'Engine address' },
  circuit: {
    failThreshold: 'Failures in a row',
    cooldownMs: 'Pause',
    ttftThresholdMs: 'Slow threshold',
    ttftSlowThreshold: 'Slow answers in a row',
  },
  routing: {
    forceZero: 'Never spend money',
    modelAliases: 'Names for models',
    modelFallback: 'Allow another model',
    idleTimeoutMs: 'Mid-answer idle timeout',
    keepAliveMs: 'Signs of life while a prompt is read',
    affinity: 'Keep conversations on their machine',
    healthChecks: 'Check sources without requests',
    retryAfterMaxMs: 'Longest rate limit to wait for',
    hedge: 'Ask a second source too',
    resume: 'Continue dropped streams',
  },
  agent: {
    enabled: 'Run the agent',
    engineUrl: 'Engine to serve',
    engineApiKey: 'Engine key',
    host: 'Listen on',
    ports: 'Ports',
    registryUrl: 'Gateway',
    otherRegistryUrls: 'Backup gateways',
    enrollToken: 'Join token',
    heartbeatMs: 'Heartbeat interval',
    region: 'Region',
    ...Object.fromEntries(Object.entries(rules).map(([key, { label }]) => [key, label])),
  },
  gateway: {
    host: 'Listen on',
    port: 'Port',
    apiKeys: 'Client API keys',
    allowedHosts: 'Allowed host names',
    allowedOrigins: 'Allowed web pages',
    maxBodyBytes: 'Largest request',
    maxBodiesInFlightBytes: 'Memory for requests',
    maxConcurrentRequests: 'Requests at a time',
    poolAddresses: 'Gateways that share machines',
    currency: 'Currency',
    electricityPriceKwh: 'Electricity price per kWh',
    databaseUrl: 'Shared database',
    poolSecret: 'Secret of these gateways',
    logLevel: 'Log level',
    logTo: 'Log to',
    logFormat: 'Log format',
  },
};

export const choiceLabels: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  prefill: {
    auto: 'Detect automatically',
    none: 'Not supported',
    'last-message': 'From a last assistant message',
    continue_final_message: 'With continue_final_message',
    prefix: 'With prefix',
  },
  protocols: {
    auto: 'Detect automatically',
    native: 'Both',
    chat: 'Neither, only chat completions',
  },
  rescueToolCalls: { on: 'Yes', off: 'No' },
  modelFallback: { any: 'Yes', same: 'No' },
  affinity: { auto: 'While it is quicker', off: 'No' },
  hedge: {
    own: 'Yours for any, paid for paid',
    all: 'The next, even if paid',
    off: 'Never',
  },
  resume: {
    'same-model': 'With the same model',
    any: 'With any model',
    off: 'Never',
  },
  logLevel: { error: 'Errors', warn: 'Warnings', info: 'Normal', debug: 'Debug' },
  logTo: {
    auto: 'Detect automatically',
    file: 'File',
    stderr: 'Standard error',
    stdout: 'Standard output',
  },
  logFormat: { auto: 'Detect automatically', text: 'Text', json: 'JSON' },
};

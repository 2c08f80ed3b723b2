import { UPSTREAM_IDS } from '#shared/ids.ts';
import type { SettingsView, SettingView } from '#shared/settings.ts';
import type { Field, Section } from './field.ts';
import { RULE_ROWS } from './rule-rows.ts';

// What a setting is comes from the gateway; here are only the names that the window gives settings and choices.

const UPSTREAM_LABELS: Readonly<Record<string, string>> = {
  baseUrl: 'Base URL',
  apiKey: 'API key',
  model: 'Model',
  models: 'More models',
  label: 'Name',
  timeoutMs: 'First-token timeout',
  headers: 'Extra headers (JSON)',
  assemble: 'Always stream internally',
  prefill: 'Can continue a partial answer',
  protocols: 'Serves Responses and Messages',
  warmup: 'Warm up when Local fails',
  priceInput: 'Price of input',
  priceOutput: 'Price of output',
  priceCached: 'Price of cached input',
  budgetDay: 'Budget for a day',
  budgetMonth: 'Budget for a month',
};

const LABELS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ...Object.fromEntries(UPSTREAM_IDS.map((id) => [id, UPSTREAM_LABELS])),
  local: { ...UPSTREAM_LABELS, baseUrl: 'Engine address' },
  circuit: {
    failThreshold: 'Failures in a row',
    cooldownMs: 'Cool-down',
    ttftThresholdMs: 'Slow threshold',
    ttftSlowThreshold: 'Slow answers in a row',
  },
  routing: {
    forceZero: 'Never spend money',
    modelAliases: 'Model aliases',
    modelFallback: 'Another model may stand in',
    idleTimeoutMs: 'Mid-answer idle timeout',
    healthChecks: 'Check upstreams without requests',
    retryAfterMaxMs: 'Longest rate limit to wait for',
    hedge: 'Hedge slow requests',
    hedgeMs: 'Hedge after',
    hedgeBudget: 'Hedge budget',
    resume: 'Resume dropped streams',
  },
  agent: {
    enabled: 'Run the agent',
    engineUrl: 'Engine to serve',
    engineApiKey: 'Engine key',
    host: 'Listen on',
    ports: 'Ports',
    registryUrl: 'Report to',
    enrollToken: 'Join token',
    heartbeatMs: 'Heartbeat interval',
    region: 'Region',
    ...Object.fromEntries(RULE_ROWS.map(({ key, label }) => [key, label])),
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
    currency: 'Currency',
    logLevel: 'Log level',
    logTo: 'Log to',
    logFormat: 'Log format',
  },
};

const PREFILL_LABELS: Readonly<Record<string, string>> = {
  auto: 'Detect automatically',
  none: 'Not supported',
  'last-message': 'From a last assistant message',
  continue_final_message: 'With continue_final_message',
  prefix: 'With prefix',
};

/** Names of choices, by the key of their setting. */
const CHOICE_LABELS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  prefill: PREFILL_LABELS,
  protocols: {
    auto: 'Detect automatically',
    native: 'Both',
    chat: 'Neither, only chat completions',
  },
  modelFallback: { any: 'Yes', same: 'No' },
  hedge: {
    own: 'Within the same tier',
    all: 'On the next upstream, even if paid',
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

/** All settings in the gateway's order; one that has no name here is called by its key. */
export function sectionsOf(view: SettingsView): readonly Section[] {
  return Object.entries(view).map(([id, settings]) => ({
    id,
    upstream: UPSTREAM_IDS.find((known) => known === id) ?? null,
    fields: Object.entries(settings).map(([key, setting]) => fieldOf(id, key, setting)),
  }));
}

function fieldOf(section: string, key: string, setting: SettingView): Field {
  const choices = (setting.choices ?? []).map((choice) => ({
    ...choice,
    label: CHOICE_LABELS[key]?.[choice.value] ?? choice.value,
  }));
  const label = LABELS[section]?.[key] ?? spacedOut(key);
  return { ...setting, section, key, path: `${section}.${key}`, label, choices };
}

/** `maxBodyBytes` as "Max body bytes". */
function spacedOut(key: string): string {
  const words = key.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

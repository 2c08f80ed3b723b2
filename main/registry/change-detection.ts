import { isDeepStrictEqual } from 'node:util';
import type { AgentRecord, ProviderEnergy } from '#shared/provider.ts';
import { isLoopback } from '../platform/network-guard.ts';
import type { StoredProvider } from './store/store.ts';
import type { VerifierNews } from './verifier-port.ts';

/** The facts of one heartbeat that are compared with the next. */
export interface HeartbeatFacts {
  readonly record: AgentRecord;
  readonly ip: string;
}

/** Those of the last heartbeat; null before the first. */
export function factsOf({
  record,
  lastHeartbeatIp: ip,
}: Pick<StoredProvider, 'record' | 'lastHeartbeatIp'>): HeartbeatFacts | null {
  return record === null ? null : { record, ip };
}

/** The differences between two heartbeats; `before` is null for the first. Telemetry does not count. */
export function newsOf(
  before: HeartbeatFacts | null,
  now: HeartbeatFacts,
): readonly VerifierNews[] {
  if (before === null) return ['material'];
  const [a, b] = [before.record, now.record];
  const hasHappened = {
    material: isMaterial(before, now),
    engineHealth: a.engine_health.status !== b.engine_health.status,
    rebooted: b.uptime_s < a.uptime_s,
    emptied: isEmptied(a, b),
  };
  return NEWS.filter((kind) => hasHappened[kind]);
}

const NEWS = ['material', 'engineHealth', 'rebooted', 'emptied'] as const;

function isEmptied(before: AgentRecord, now: AgentRecord): boolean {
  const hasGone = before.engine_health.status === 'ok' && now.engine_health.status !== 'ok';
  const left = loadedModels(now);
  const isUnloaded = loadedModels(before).some((model) => !left.includes(model));
  return now.uptime_s < before.uptime_s || hasGone || isUnloaded;
}

/** An engine that says nothing of its memory has the model in it that it answers with. */
export function loadedModels({
  current_model: current,
  model_facts: facts = [],
}: Pick<AgentRecord, 'current_model' | 'model_facts'>): readonly string[] {
  const loaded = facts.filter((model) => model.loaded === true).map(({ id }) => id);
  return loaded.length > 0 || current === null ? loaded : [current];
}

/** Whether the verified machine now has other GPUs, another address, or another engine or models. */
function isMaterial(before: HeartbeatFacts, now: HeartbeatFacts): boolean {
  const [a, b] = [before.record, now.record];
  return !isSamePlace(before, now) || !isSameSet(a.models, b.models) || isOtherEngine(a, b);
}

/** Whether the machine has the same addresses and number of GPUs as before. */
export function isSamePlace(before: HeartbeatFacts, now: HeartbeatFacts): boolean {
  return (
    addressesOf(before) === addressesOf(now) && before.record.gpu.count === now.record.gpu.count
  );
}

/**
 * Everything that candidate addresses are made from. Both loopback families count as one address, because either may be
 * used for a connection.
 */
function addressesOf({ record, ip }: HeartbeatFacts): string {
  const { agent_url, tailnet_ip, host } = record;
  const from = isLoopback(ip) ? 'loopback' : ip;
  return JSON.stringify([agent_url, tailnet_ip, host.tailnet_hostname, host.hostname, from]);
}

/**
 * An engine that loads one of its offered models is the same engine, although its files are then elsewhere or known for
 * the first time: Ollama and llama-swap load on request, several times a minute, and for the test of a new machine.
 */
function isOtherEngine(a: AgentRecord, b: AgentRecord): boolean {
  if (a.current_model === b.current_model)
    return a.engine_model !== null && a.engine_model !== b.engine_model;
  return b.current_model === null || !a.models.includes(b.current_model);
}

const isSameSet = (a: readonly string[], b: readonly string[]) =>
  isDeepStrictEqual(new Set(a), new Set(b));

/** Limits on the lists in a record. */
const MAX_GPUS = 64;
const MAX_MODELS = 512;
/** No machine exceeds these; higher claims are not believed. */
const MAX_DECODE_TPS = 5000;
const MAX_BANDWIDTH_GBS = 20_000;
const MAX_WATTS = 100_000;
const MAX_JOULES_PER_TOKEN = 10_000;

/** The record with its lists truncated and its claims clamped to plausible values; `raw` keeps them as sent. */
export function clamped(record: AgentRecord): AgentRecord {
  const { models, model_facts: facts, gpu, energy } = record;
  return {
    ...record,
    models: models.slice(0, MAX_MODELS),
    ...(facts === undefined ? {} : { model_facts: facts.slice(0, MAX_MODELS) }),
    decode_tps: atMost(MAX_DECODE_TPS, record.decode_tps),
    memory_bandwidth_gbs: atMost(MAX_BANDWIDTH_GBS, record.memory_bandwidth_gbs),
    gpu: { ...gpu, count: Math.min(MAX_GPUS, gpu.count), devices: gpu.devices.slice(0, MAX_GPUS) },
    ...(energy === undefined ? {} : { energy: plausible(energy) }),
  };
}

function plausible({ idle_w, models }: ProviderEnergy): ProviderEnergy {
  const bounded = (joules: number, tokens: number) =>
    Math.min(joules, tokens * MAX_JOULES_PER_TOKEN);
  return {
    idle_w: atMost(MAX_WATTS, idle_w),
    models: models.map((each) => ({ ...each, joules: bounded(each.joules, each.tokens) })),
  };
}

function atMost(limit: number, value: number | null): number | null {
  return value === null ? null : Math.min(limit, value);
}

import { expect, test } from 'vitest';
import { modelFacts } from '../../../main/engines/models.ts';
import { type BalancingDeps, LocalPool } from '../../../main/gateway/routing/local-pool.ts';
import type { Config } from '../../../main/config/schema.ts';
import { createMemory } from '../../../main/gateway/memory/memory.ts';
import type { LocalOption } from '../../../main/gateway/routing/machine-choice.ts';
import {
  circuitIdOf,
  modelAt,
  type LocalTarget,
} from '../../../main/gateway/upstream/upstreams.ts';
import { targetAt } from '../../support/targets.ts';
import { createManualClock } from '../../support/clock.ts';

const fact = (id: string, loaded: boolean | null) => modelFacts(id, { loaded });
const machine = (provider: string, loaded: Readonly<Record<string, boolean | null>>) =>
  targetAt('http://127.0.0.1:1', {
    provider,
    models: Object.keys(loaded),
    facts: Object.entries(loaded).map(([id, isLoaded]) => fact(id, isLoaded)),
  });

/** The machines that are called for a model, while those in `busy` run a request. */
function called(
  targets: readonly LocalTarget[],
  model: string,
  { busy = [], keepsModel = false }: { busy?: readonly string[]; keepsModel?: boolean } = {},
) {
  const needs = () => ({ vision: false, tools: false });
  const request = {
    model,
    bytes: Buffer.alloc(0),
    endpoint: { keepsModel, answer: { stream: null } },
    needs,
  };
  const memory = createMemory(createManualClock());
  const deps = {
    circuits: { exclusionOf: () => null, at: () => ({ breaker: { health: { ttft: null } } }) },
    inFlightAt: (id: string) => Number(busy.includes(id)),
    isRunning: () => false,
    random: () => 0.5,
  };
  const options = targets.map((target) => {
    const id = circuitIdOf(target);
    const form = { request, asked: request };
    return { target, id, known: memory.of(id), form, ...modelAt(target, request) };
  });
  const pool = new LocalPool(
    options as unknown as readonly LocalOption[],
    { routing: {} } as Config,
    deps as unknown as BalancingDeps,
  );
  return {
    first: pool.machines('in_turn').map(({ id }) => id),
    forced: pool.machines('forced').map(({ id }) => id),
    reason: pool.exclusion().reason,
  };
}

const warm = machine('warm', { qwen: true, gemma: false });
const cold = machine('cold', { qwen: false, gemma: true });

test('machines without the model in memory come after those that have it, however busy these are', () => {
  expect(called([cold, warm], 'qwen').first).toEqual(['warm', 'cold']);
  expect(called([cold, warm], 'gemma').first).toEqual(['cold', 'warm']);
  expect(called([cold, warm], 'qwen', { busy: ['warm'] }).first).toEqual(['warm', 'cold']);
});

test('machines without any model in memory come last if no machine has the one that was asked for', () => {
  const idle = machine('idle', { qwen: false });
  for (const targets of [
    [idle, warm],
    [warm, idle],
  ])
    expect(called(targets, 'gpt-4o').first).toEqual(['warm', 'idle']);
  expect(called([idle, warm], 'gpt-4o', { busy: ['warm'] }).first[0]).toBe('warm');
});

test('machines without the model in memory are not called while a request runs there, unless nothing else is left', () => {
  const { first, forced, reason } = called([cold], 'qwen', { busy: ['cold'] });
  expect([first, forced, reason]).toEqual([[], ['cold'], 'busy']);
  expect(called([cold, warm], 'qwen', { busy: ['cold', 'warm'] }).first).toEqual(['warm']);
});

test('busy machines are called for embeddings all the same, and if they do not report what is loaded', () => {
  expect(called([cold], 'qwen', { busy: ['cold'], keepsModel: true }).first).toEqual(['cold']);
  const silent = machine('silent', { qwen: null });
  expect(called([silent], 'qwen', { busy: ['silent'] }).first).toEqual(['silent']);
});

import { expect, test } from 'vitest';
import type { AgentRecord } from '#shared/provider.ts';
import { modelFacts } from '../../main/engines/models.ts';
import { newsOf } from '../../main/registry/change-detection.ts';
import { device, recordOf, startRegistry, startVerified } from './world.ts';

const { gpu, host } = recordOf();
const heard = (overrides: Partial<AgentRecord> = {}, ip = '192.168.1.20') => ({
  record: recordOf(overrides),
  ip,
});

test.each<[what: string, change: Partial<AgentRecord>]>([
  ['agent_url', { agent_url: 'http://192.168.1.21:3001' }],
  ['tailnet address', { tailnet_ip: '100.64.0.7' }],
  ['tailnet hostname', { host: { ...host, tailnet_hostname: 'tower.tail.ts.net' } }],
  ['hostname', { host: { ...host, hostname: 'other' } }],
  ['engine', { engine_model: 'other.gguf' }],
  ['current model, one that was not offered', { current_model: 'new' }],
  ['current model, to none', { current_model: null }],
  ['offered models, one more', { models: ['qwen3-32b', 'llama-8b', 'new'] }],
  ['offered models, one fewer', { models: ['qwen3-32b'] }],
  ['offered models, one twice instead', { models: ['qwen3-32b', 'qwen3-32b'] }],
  ['GPU count', { gpu: { ...gpu, count: 2 } }],
])('a change of the %s is material', (_what, change) => {
  expect(newsOf(heard(), heard(change))).toContain('material');
});

test('another source address of heartbeats is material, but another loopback family is not', () => {
  expect(newsOf(heard(), heard({}, '192.168.1.99'))).toEqual(['material']);
  expect(newsOf(heard({}, '127.0.0.1'), heard({}, '::1'))).toEqual([]);
});

test.each<[what: string, change: Partial<AgentRecord>]>([
  ['nothing', {}],
  ['load', { gpu: { ...gpu, devices: [{ ...device(0), util_gpu: 99, memory_used_mb: 1 }] } }],
  ['counters', { requests_served: 99, tokens_generated: 99_999, decode_tps: 1 }],
  ['the status', { status: 'paused' }],
  ['uptime', { uptime_s: 99_999 }],
  ['the order of the models', { models: ['llama-8b', 'qwen3-32b'] }],
  ['the agent version', { agent_version: '9.9.9' }],
  ['the model that answers, of two in memory', { current_model: 'llama-8b' }],
])('a change of %s is not news', (_what, change) => {
  const model_facts = ['qwen3-32b', 'llama-8b'].map((id) => modelFacts(id, { loaded: true }));
  expect(newsOf(heard({ model_facts }), heard({ model_facts, ...change }))).toEqual([]);
});

test('an engine that loads the model of the test, so that its file becomes known, is the same engine', () => {
  expect(newsOf(heard({ engine_model: null }), heard())).toEqual([]);
});

test.each<[what: string, change: Partial<AgentRecord>]>([
  ['another of the offered models', { current_model: 'llama-8b', engine_model: 'b.gguf' }],
  ['none', { current_model: null }],
])(
  'an engine with %s in memory has lost its cached prompts, and nothing else is news',
  (_what, change) => {
    const news = newsOf(heard(), heard(change)).filter((kind) => kind !== 'material');
    expect(news).toEqual(['emptied']);
    expect(newsOf(heard({ current_model: null }), heard())).not.toContain('emptied');
  },
);

test('another model leaves a machine in routing until the next check, and another engine elsewhere does not', async () => {
  const { registry, agent, beat } = await startVerified();
  await beat(agent, { models: ['another'], current_model: 'another' });
  expect(registry.get(agent.id)?.verification.status).toBe('pending');
  expect(registry.targets()).toMatchObject([{ models: ['another'], currentModel: 'another' }]);
  await beat(agent, { models: [], current_model: null, status: 'degraded' });
  expect(registry.targets()).toEqual([]);
  await beat(agent, { models: ['third'], current_model: 'third' });
  expect(registry.targets()).toMatchObject([{ currentModel: 'third' }]);
  await beat(agent, { models: ['third'], current_model: 'third', agent_url: 'http://other:3001' });
  expect(registry.targets()).toEqual([]);
});

test('a new machine takes no requests before it was verified, whatever its models do', async () => {
  const { registry, join, beat } = startRegistry();
  const agent = await join();
  await beat(agent);
  await beat(agent, { models: ['another'], current_model: 'another' });
  expect(registry.targets()).toEqual([]);
});

test('a material change makes a verified machine pending in the same write, and takes it out of routing', async () => {
  const { registry, agent, beat, news, store } = await startVerified();
  news.length = 0;
  await beat(agent, { requests_served: 18 });
  expect([news, registry.targets().length]).toEqual([[], 1]);
  await beat(agent, { gpu: { ...gpu, count: 2 } });
  expect(news).toEqual([[agent.id, ['material']]]);
  expect(registry.targets()).toEqual([]);
  expect(registry.get(agent.id)).toMatchObject({
    trust_level: 'none',
    verification: { status: 'pending', routable: false, failure_reason: '' },
  });
  const [kept] = store.state().providers;
  expect(kept?.verification).toMatchObject({ state: 'pending', address: null });
});

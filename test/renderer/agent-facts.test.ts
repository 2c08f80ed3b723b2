import { expect, test } from 'vitest';
import type { AgentEnergy, AgentView } from '#shared/agent.ts';
import type { Condition } from '#shared/condition.ts';
import type { Provider } from '#shared/provider.ts';
import { OWNER_RULE_KEYS } from '../../main/agent/availability/rules.ts';
import { problemsOf } from '../../main/agent/problems.ts';
import { ENTRIES, SETTINGS } from '../../main/config/schema.ts';
import { currentOf, engineNote } from '../../renderer/features/setup/engine-choice.tsx';
import { isSameEngine } from '../../renderer/features/this-machine/agent-engine.ts';
import {
  agentFacts,
  agentWords,
  breakEven,
  electricityFacts,
} from '../../renderer/features/this-machine/agent-text.ts';
import { RULE_KEYS } from '../../renderer/features/this-machine/owner-rules.tsx';
import {
  agentProblems,
  modeActions,
  modeNote,
  sentence,
} from '../../renderer/features/this-machine/this-machine.tsx';
import { agentRecord } from '../support/agent-record.ts';
import { agentView, membership, owner } from './agent-builders.ts';
import { NOW } from './builders.ts';
import { provider } from './provider-builders.ts';

const facts = (over: Partial<AgentView> = {}) =>
  Object.fromEntries(agentFacts(agentView(over), NOW).map(({ label, value }) => [label, value]));

test('the facts on this machine are its engine, model, GPU, gateway and ports, in short', () => {
  expect(facts()).toEqual({
    Engine: 'Ollama, ready, at 127.0.0.1:11434',
    Model: 'qwen3-32b',
    GPU: 'RTX 4090 · 24\u00a0GB',
    'Reports to': 'this gateway',
    'Last report': '4 s ago',
    'Agent listens on': '127.0.0.1:3001 and 47901',
  });
});

test('a missing fact on this machine is shown as missing', () => {
  const { gpu } = agentRecord();
  const bare = facts({
    engine: null,
    engines: [],
    record: agentRecord({ chip: null, memory_gb: null, gpu: { ...gpu, count: 0, devices: [] } }),
    registry: membership({ kind: 'none', state: 'not_enrolled', lastAcceptedAt: null }),
  });
  expect(bare).toMatchObject({
    Engine: 'none found',
    GPU: 'none found',
    'Reports to': 'no gateway',
    'Last report': 'none yet',
  });
  expect(bare).not.toHaveProperty('Model');
});

test('a machine whose GPU was found and that runs no engine is told both, unless it is being tested or loads a model', () => {
  const seen = { kind: 'on', view: agentView({ engine: null, engines: [] }) } as const;
  const noteIn = (condition: Condition) => engineNote(currentOf(seen, condition));
  for (const cause of ['verifying', 'loading'] as const)
    expect(noteIn({ kind: 'no-provider', cause })).toBe('Looking for engines…');
  expect(noteIn({ kind: 'missing', wants: 'engine' })).toMatch(
    /RTX 4090 found, but no engine yet\. Start Ollama/,
  );
});

test('a port that could not be bound is named alongside the one that could', () => {
  const failed = { kind: 'failed', port: 3001, message: '' } as const;
  const at = (...ports: AgentView['server']['ports']) =>
    facts({ server: { host: '0.0.0.0', ports, url: '' } })['Agent listens on'];
  expect(at(failed, { kind: 'listening', port: 47_901 })).toBe('0.0.0.0:47901, not on 3001');
  expect(at(failed)).toBe('nothing, not on 3001');
});

test.each([
  ['http://127.0.0.1:11434', 'http://127.0.0.1:11434/', true],
  ['http://127.0.0.1:11434', 'http://127.0.0.1:11434/v1', true],
  ['http://127.0.0.1:11434', 'http://localhost:11434/v1/', true],
  ['http://127.0.0.1:11434', 'http://127.0.0.1:8000', false],
  ['http://127.0.0.1:11434', null, false],
  [null, null, false],
])('an engine at %s and one at %s are the same: %s', (one, other, same) => {
  expect(isSameEngine(one, other)).toBe(same);
});

const offered = (...[choice, mode]: Parameters<typeof owner>) => {
  const view = agentView({ owner: owner(choice, mode) });
  return [...modeActions(view, false).map(({ choice: order }) => order), modeNote(view) !== null];
};

test('only modes that would change something are offered, with a hint for those that are not plain', () => {
  expect(offered('on', 'on')).toEqual(['drained', 'paused', true]);
  expect(offered('on', 'paused')).toEqual(['on', 'paused', false]);
  expect(offered('on', 'draining')).toEqual(['on', 'paused', true]);
  expect(offered('drained', 'draining')).toEqual(['on', 'paused', true]);
  expect(offered('drained', 'paused')).toEqual(['on', false]);
  expect(offered('paused', 'paused')).toEqual(['on', false]);
  expect(offered('on', 'leaving')).toEqual([false]);
  const idle = agentView({ owner: owner('on', 'on'), engine: null });
  expect([modeActions(idle, false), modeNote(idle)]).toMatchObject([[{ choice: 'paused' }], null]);
  expect(modeActions(idle, true)).toEqual([]);
});

const BYSTANDER = { isDirect: false, listed: null, isOwner: true, nowMs: NOW };

test('a machine that still gets requests while it is tested again is not said to wait, nor is one that has passed since its last report', () => {
  const markOf = (routable: boolean, kind: 'own' | 'joined', listed: Provider | null) => {
    const verification = { status: 'pending', routable, failure_reason: '' };
    const registry = membership({ kind, standing: { status: 'idle', verification } });
    const view = agentView({ registry, record: agentRecord({ status: 'idle' }) });
    return agentWords(view, { ...BYSTANDER, listed }).mark;
  };
  expect([markOf(true, 'own', null), markOf(false, 'own', null)]).toEqual(['idle', 'pending']);
  const passed = provider();
  expect([markOf(false, 'own', passed), markOf(false, 'joined', passed)]).toEqual([
    'idle',
    'pending',
  ]);
});

test('a machine whose engine its gateway uses directly is not said to wait for a test of it', () => {
  const words = (kind: 'own' | 'joined') => {
    const registry = membership({ kind, standing: null });
    return agentWords(agentView({ registry }), { ...BYSTANDER, isDirect: true });
  };
  expect([words('own').word, words('joined').word]).toEqual(['used directly', 'waiting']);
});

test('memory that an engine keeps is not said to be freed', () => {
  const freed = { ...owner('on', 'paused'), freed: { untilMs: null } };
  const memory = { state: 'freed', toLoad: [], problem: 'It has no way to unload.' } as const;
  const { word, what } = agentWords(agentView({ owner: freed, memory }), BYSTANDER);
  expect([word, what]).toEqual([
    'memory still taken',
    'Held back by you, but its memory is still taken.',
  ]);
});

test('every problem that the agent reports of its parts is shown', () => {
  const failed = { kind: 'failed', port: 3001, message: 'Port 3001 is in use.' } as const;
  const registry = membership({
    kind: 'joined',
    url: 'http://192.168.1.5:47900',
    state: 'failing',
    standing: null,
    problem: { happened: 'It does not answer.', remedy: null },
    clockOffsetMs: 120_000,
  });
  const warnings = [{ happened: 'The file was damaged.', remedy: 'Join again.' }];
  const problems = problemsOf({ host: '127.0.0.1', ports: [failed] }, registry, warnings);
  expect(problems).toHaveLength(5);
  expect(agentProblems({ problems })).toEqual({ own: problems, tools: [] });
});

test('the output of a driver’s tool is kept apart from the problem', () => {
  const tool = { tool: 'nvidia-smi', tried: 'nvidia-smi -l 5', happened: '', remedy: '' };
  expect(agentProblems({ problems: [tool] })).toEqual({ own: [], tools: [tool] });
});

test('a remark of the agent becomes a sentence', () => {
  expect(sentence('no GPU was found ')).toBe('No GPU was found.');
  expect(sentence('Is it on?')).toBe('Is it on?');
  expect(sentence('')).toBe('');
});

const ENERGY: AgentEnergy = {
  watts: 210,
  idleWatts: 28,
  isNet: true,
  models: [{ model: 'qwen3', joules: 29_000, tokens: 10_000 }],
  priceKwh: 0.3,
  currency: 'EUR',
};

test('idle power is shown with its cost in a day, and a token with the price from which it pays', () => {
  expect(electricityFacts(ENERGY)).toEqual([
    { label: 'GPU when idle', value: '28 W: 0.67 kWh a day, 0.202 EUR' },
    {
      label: 'A token of qwen3',
      value: '2.9 J: pays above 0.242 EUR for a million hosted output tokens',
    },
  ]);
});

test('electricity is shown without amounts if there is no price, and not at all before a measurement', () => {
  const values = electricityFacts({ ...ENERGY, priceKwh: null }).map(({ value }) => value);
  expect(values).toEqual(['28 W: 0.67 kWh a day', '2.9 J']);
  const models = [{ model: 'qwen3', joules: 100, tokens: 49 }];
  expect(electricityFacts({ ...ENERGY, idleWatts: null, models })).toEqual([]);
  // A GPU that reports no more power than when idle.
  const free = [{ model: 'qwen3', joules: 0, tokens: 10_000 }];
  expect(electricityFacts({ ...ENERGY, idleWatts: null, models: free })).toEqual([]);
});

test('electricity that includes idle power is marked so', () => {
  const [gross] = electricityFacts({ ...ENERGY, idleWatts: null, isNet: false });
  expect(gross?.label).toBe('A token of qwen3, idle power included');
});

test('a kilowatt-hour for a million tokens pays from the price of a kilowatt-hour', () => {
  expect(breakEven(3.6, 0.4)).toBeCloseTo(0.4, 12);
});

test('every owner rule of the agent has words and a setting of its own, and no other rule has', () => {
  expect(RULE_KEYS).toEqual([
    ...OWNER_RULE_KEYS,
    // They go with rules, and can always be judged.
    'freeMemory',
    'idleUnloadMin',
  ]);
  const paths = ENTRIES.map(({ path }) => path);
  expect(paths).toEqual(expect.arrayContaining(OWNER_RULE_KEYS.map((key) => `agent.${key}`)));
  const config = SETTINGS.agent;
  for (const key of OWNER_RULE_KEYS) expect([false, null]).toContain(config[key].fallback);
});

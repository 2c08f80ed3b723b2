import { expect, test } from 'vitest';
import type { AgentEngine, AgentView } from '#shared/agent.ts';
import { agentWords, offWords } from '../../renderer/features/this-machine/agent-text.ts';
import { NOW } from './builders.ts';
import { agentEngine, agentView, judged, membership, owner } from './agent-builders.ts';
import { agentRecord } from '../support/agent-record.ts';

const OWNER = { isDirect: false, isOwner: true, nowMs: NOW };
const words = (over: Partial<AgentView>, bystander = OWNER) =>
  agentWords(agentView(over), bystander);
const sick = (status: AgentEngine['health']['status'], code: number): Partial<AgentView> => ({
  engine: agentEngine({ health: { status, code } }),
});
const listening = (...ports: AgentView['server']['ports']): Partial<AgentView> => ({
  server: { host: '127.0.0.1', ports, url: '' },
});
const taken = { kind: 'failed', port: 3001, message: 'Port 3001 is in use.' } as const;
const cpuOnly = { useEngineDirectly: 'http://127.0.0.1:11434' };

/** One machine of every standing that its owner may meet. */
const STANDINGS: readonly (readonly [string, string, Partial<AgentView>])[] = [
  ['serving', 'green', {}],
  ['ready', 'green', { record: agentRecord({ status: 'idle' }) }],
  ['paused', 'grey', { owner: owner('paused', 'paused') }],
  ['paused', 'grey', { owner: owner('drained', 'paused') }],
  ['draining', 'grey', { owner: owner('drained', 'draining') }],
  ['held back', 'grey', { owner: owner('on', 'paused', ['This machine runs on battery.']) }],
  [
    'memory freed',
    'grey',
    { owner: { ...owner('on', 'paused', ['Its owner has freed it.']), freed: { untilMs: null } } },
  ],
  [
    'changing models',
    'blue',
    {
      owner: owner('on', 'paused', ['Loads qwen3.']),
      memory: { state: 'loading', toLoad: ['qwen3'], problem: null },
    },
  ],
  ['stopping', 'grey', { owner: owner('on', 'leaving') }],
  ['no engine', 'grey', { engine: null, engines: [] }],
  ['starting', 'blue', { engine: null, engines: [], uptimeS: 1 }],
  ['loading', 'blue', sick('loading', 503)],
  ['engine locked', 'red', sick('unauthorized', 401)],
  ['engine down', 'red', sick('error', 500)],
  ['engine down', 'red', sick('unreachable', 0)],
  ['no GPU', 'amber', cpuOnly],
  ['unreachable', 'red', listening(taken)],
  ['starting', 'blue', listening()],
  ['not joined', 'red', { registry: membership({ kind: 'none', state: 'not_enrolled' }) }],
  ['no contact', 'red', { registry: membership({ state: 'failing' }) }],
  ['starting', 'blue', { registry: membership({ state: 'starting' }) }],
  ['check failed', 'red', { registry: judged('failed', 'GPU count >0: none') }],
  ['verifying', 'blue', { registry: judged('verifying') }],
  ['waiting', 'blue', { registry: judged('pending') }],
  ['waiting', 'blue', { registry: membership({ standing: null }) }],
];

test.each(STANDINGS)('this machine is shown as %s, in %s', (word, tone, over) => {
  const said = words(over);
  expect(said).toMatchObject({ word, tone });
  expect(said.what).toMatch(/^[A-Z].*\.$/);
});

test('the owner’s choice for this machine is shown before anything else that is wrong', () => {
  const paused = { owner: owner('paused', 'paused') };
  for (const [, , over] of STANDINGS.filter(([, , { owner: own }]) => own === undefined)) {
    expect(words({ ...over, ...paused }).word).toBe('paused');
  }
});

test('one port that listens is enough for this machine', () => {
  expect(words(listening(taken, { kind: 'listening', port: 47_901 })).word).toBe('serving');
});

test('an owner rule that holds this machine back is shown with its reason, and that it ends by itself', () => {
  const { what, todo } = words({ owner: owner('on', 'draining', ['Hot.', 'On battery.']) });
  expect(what).toBe('Hot. On battery.');
  expect(todo).toMatch(/automatically/);
});

test('a reader is shown that the owner has paused this machine, and the owner that it was them', () => {
  const { what } = words({ owner: owner('paused', 'paused') }, { ...OWNER, isOwner: false });
  expect(what).toBe('Paused by its owner: it takes no requests until it is resumed.');
  expect(words({ owner: owner('paused', 'paused') }).what).toMatch(/^Paused by you:/);
});

test('an engine that Local calls directly is shown as well, though no gateway verifies it', () => {
  const said = words({ ...cpuOnly, registry: judged('failed') }, { ...OWNER, isDirect: true });
  expect(said).toMatchObject({ tone: 'green', word: 'used directly' });
  expect(words({ ...cpuOnly, registry: judged('failed') }).word).toBe('no GPU');
});

test('a failed check of this machine is named, with a link to its page only where there is one', () => {
  const registry = judged('failed', 'GPU count >0: none');
  expect(words({ registry }).what).toMatch(/GPU count >0: none/);
  expect(words({ registry }).todo).not.toBeNull();
  expect(words({ registry: { ...registry, kind: 'joined' } }).todo).toBeNull();
});

test('an agent that is switched off shows in the gateway’s words how it is switched on again', () => {
  expect(offWords('Set it to true.')).toMatchObject({ tone: 'grey', what: 'Set it to true.' });
});

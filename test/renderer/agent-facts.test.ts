import { describe, expect, test } from 'vitest';
import type { AgentView } from '#shared/agent.ts';
import { problemsOf } from '../../main/agent/problems.ts';
import {
  engineHealthText,
  engineName,
  isSameEngine,
  plainAddress,
} from '../../renderer/features/this-machine/agent-engine.ts';
import { agentFacts } from '../../renderer/features/this-machine/agent-facts.ts';
import {
  agentProblems,
  modeActions,
  modeNote,
  sentence,
} from '../../renderer/features/this-machine/this-machine.tsx';
import { agentRecord } from '../support/agent-record.ts';
import { agentEngine, agentView, membership, owner } from './agent-builders.ts';
import { NOW } from './builders.ts';

const facts = (over: Partial<AgentView> = {}) =>
  Object.fromEntries(agentFacts(agentView(over), NOW).map(({ label, value }) => [label, value]));

describe('what is known of this machine', () => {
  test('engine, model, GPU, gateway and ports, in short', () => {
    expect(facts()).toEqual({
      Engine: 'Ollama, ready, at 127.0.0.1:11434',
      Model: 'qwen3-32b',
      GPU: 'RTX 4090 · 24\u00a0GB',
      'Reports to': 'this gateway',
      'Last heartbeat': '4 s ago',
      'Listens on': '127.0.0.1:3001 and 47901',
    });
  });

  test('what is missing is said to be missing', () => {
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
      'Last heartbeat': 'none yet',
    });
    expect(bare).not.toHaveProperty('Model');
  });

  test('several GPUs and several engines are counted', () => {
    const { gpu } = agentRecord();
    const many = facts({
      engines: [agentEngine(), agentEngine({ kind: 'vllm' })],
      record: agentRecord({ memory_gb: 48, gpu: { ...gpu, count: 2 } }),
    });
    expect(many['GPU']).toBe('2 × RTX 4090 · 48\u00a0GB');
    expect(many['Engine']).toMatch(/\(of 2 found\)$/);
  });

  test('a gateway that was joined is named', () => {
    const url = 'http://192.168.1.5:47900';
    expect(facts({ registry: membership({ kind: 'joined', url }) })['Reports to']).toBe(url);
  });

  test('a port that could not be had is named alongside the one that could', () => {
    const failed = { kind: 'failed', port: 3001, message: '' } as const;
    const at = (...ports: AgentView['server']['ports']) =>
      facts({ server: { host: '0.0.0.0', ports, url: '' } })['Listens on'];
    expect(at(failed, { kind: 'listening', port: 47_901 })).toBe('0.0.0.0:47901, not on 3001');
    expect(at(failed)).toBe('nothing, not on 3001');
  });

  test('a gateway whose clock is ahead does not make a heartbeat come from the future', () => {
    expect(facts({ registry: membership({ lastAcceptedAt: NOW + 9_000 }) })).toMatchObject({
      'Last heartbeat': '0 s ago',
    });
  });
});

describe('an engine', () => {
  test('that nobody has a name for stands for itself', () => {
    expect(engineName('lmstudio')).toBe('LM Studio');
    expect(engineName('brand-new')).toBe('brand-new');
  });

  test('says in a word of its own how it is', () => {
    const said = (['ok', 'loading', 'unauthorized', 'error', 'unreachable'] as const).map(
      (status) => engineHealthText({ status, code: 500 }),
    );
    expect(new Set(said).size).toBe(said.length);
    expect(said[3]).toContain('500');
  });

  test.each([
    ['http://127.0.0.1:11434', 'http://127.0.0.1:11434/', true],
    ['http://127.0.0.1:11434', 'http://127.0.0.1:11434/v1', true],
    ['http://127.0.0.1:11434', 'http://localhost:11434/v1/', true],
    ['http://127.0.0.1:11434', 'http://127.0.0.1:8000', false],
    ['http://127.0.0.1:11434', null, false],
    [null, null, false],
  ])('at %s and at %s is the same: %s', (one, other, same) => {
    expect(isSameEngine(one, other)).toBe(same);
  });

  test('has an address without what goes without saying', () => {
    expect(plainAddress('http://127.0.0.1:11434/')).toBe('127.0.0.1:11434');
    expect(plainAddress('https://engine.test')).toBe('https://engine.test');
  });
});

describe('the modes that are offered', () => {
  const offered = (...[choice, mode]: Parameters<typeof owner>) => {
    const view = agentView({ owner: owner(choice, mode) });
    return [...modeActions(view).map(({ choice: order }) => order), modeNote(view) !== null];
  };

  test('only what would change something is offered, with a word on what is not plain', () => {
    expect(offered('on', 'on')).toEqual(['drained', 'paused', true]);
    expect(offered('on', 'paused')).toEqual(['on', 'paused', false]);
    expect(offered('on', 'draining')).toEqual(['on', 'paused', true]);
    expect(offered('drained', 'draining')).toEqual(['on', 'paused', true]);
    expect(offered('drained', 'paused')).toEqual(['on', false]);
    expect(offered('paused', 'paused')).toEqual(['on', false]);
    expect(offered('on', 'leaving')).toEqual([false]);
  });
});

describe('problems', () => {
  test('all that the agent says of its own parts is shown openly', () => {
    const problems = problemsOf({
      host: '127.0.0.1',
      ports: [{ kind: 'failed', port: 3001, message: 'Port 3001 is in use.' }],
      registry: membership({
        kind: 'joined',
        url: 'http://192.168.1.5:47900',
        state: 'failing',
        standing: null,
        problem: { happened: 'It does not answer.', remedy: null },
        clockOffsetMs: 120_000,
      }),
      warnings: [{ happened: 'The file was damaged.', remedy: 'Join again.' }],
      engineUrlFault: 'Write it as in http://127.0.0.1:8000.',
    });
    expect(problems).toHaveLength(6);
    expect(agentProblems({ problems })).toEqual({ own: problems, tools: [] });
  });

  test('each remedy stands alone: the page shows it alongside other problems', () => {
    const damaged = { happened: 'The file was damaged.', remedy: 'Join again.' };
    const problems = problemsOf({
      host: '127.0.0.1',
      ports: [],
      registry: membership(),
      warnings: [damaged],
      engineUrlFault: null,
    });
    expect(problems).toEqual([expect.objectContaining(damaged)]);
  });

  test('what a driver’s tool says is kept apart', () => {
    const tool = { tool: 'nvidia-smi', tried: 'nvidia-smi -l 5', happened: '', remedy: '' };
    expect(agentProblems({ problems: [tool] })).toEqual({ own: [], tools: [tool] });
  });

  test('a remark becomes a sentence', () => {
    expect(sentence('no GPU was found ')).toBe('No GPU was found.');
    expect(sentence('Is it on?')).toBe('Is it on?');
    expect(sentence('')).toBe('');
  });
});

import type { AgentEngine, AgentModel, AgentView } from '#shared/agent.ts';
import { NOW } from './builders.ts';
import { agentRecord } from '../support/agent-record.ts';

export function agentEngine(over: Partial<AgentEngine> = {}): AgentEngine {
  return {
    kind: 'ollama',
    baseUrl: 'http://127.0.0.1:11434',
    health: { status: 'ok', code: 200 },
    models: ['qwen3-32b'],
    currentModel: 'qwen3-32b',
    ...over,
  };
}

export function agentModel(over: Partial<AgentModel> = {}): AgentModel {
  return {
    id: 'qwen3-32b',
    engine: 'ollama',
    baseUrl: 'http://127.0.0.1:11434',
    use: 'chat',
    isRemote: false,
    loaded: true,
    loadedAt: NOW - 3_600_000,
    sizeBytes: null,
    vramBytes: null,
    contextLength: null,
    canUnload: true,
    ...over,
  };
}

/** A machine with a GPU that its own gateway has verified and that answers a request. */
export function agentView(over: Partial<AgentView> = {}): AgentView {
  return {
    id: 'prv_b16c2d1bead1262639764fdb0ee4d377',
    version: '0.1.0',
    uptimeS: 600,
    owner: owner('on', 'on'),
    server: {
      host: '127.0.0.1',
      ports: [
        { kind: 'listening', port: 3001 },
        { kind: 'listening', port: 47_901 },
      ],
      url: 'http://127.0.0.1:3001',
    },
    registry: membership(),
    engine: agentEngine(),
    engines: [agentEngine()],
    models: [agentModel()],
    energy: {
      watts: null,
      idleWatts: null,
      isNet: true,
      models: [],
      priceKwh: null,
      currency: 'EUR',
    },
    memory: { state: 'kept', toLoad: [], problem: null },
    record: agentRecord(),
    inFlight: 1,
    useEngineDirectly: null,
    problems: [],
    ...over,
  };
}

export function owner(
  choice: AgentView['owner']['choice'],
  mode: AgentView['owner']['mode'],
  reasons: readonly string[] = [],
): AgentView['owner'] {
  const rules = {
    onlyWhenIdle: false,
    notOnBattery: false,
    maxGpuTemperatureC: null,
    yieldToOthers: false,
    freeMemory: false,
    idleUnloadMin: null,
  };
  return { choice, freed: null, mode, reasons, rules, heldRules: [], unjudgeable: [] };
}

export function membership(over: Partial<AgentView['registry']> = {}): AgentView['registry'] {
  return {
    kind: 'own',
    url: null,
    state: 'connected',
    lastAcceptedAt: NOW - 4_000,
    standing: {
      status: 'serving',
      verification: { status: 'verified', routable: true, failure_reason: '' },
    },
    problem: null,
    clockOffsetMs: 0,
    ...over,
  };
}

import type { GatewayVerdict } from '#shared/agent.ts';
import type { AgentRecord } from '#shared/provider.ts';
import { CHECKS } from '#shared/checks.ts';
import type { Clock } from '../../platform/clock.ts';
import { newSecret } from '../../platform/secrets.ts';
import type { EngineView, EngineKind } from '../../engines/adapters/engine-view.ts';
import type { AskEdges, EngineAddress } from '../../engines/adapters/probe.ts';
import { ENGINE_PORTS, lookAt } from '../../engines/detect.ts';
import { type EnginePlace, localAddresses, lookInTurn } from '../engines/watch.ts';
import { chosen, found } from '../engines/engine-table.ts';
import { agentRecord, type AgentState } from '../record.ts';
import { readingsText } from '../telemetry/gpu-device.ts';
import { type Telemetry, type TelemetryWatch, untilGpusRead } from '../telemetry/telemetry.ts';
import {
  checkAgent,
  checkInference,
  type ExpectedAgent,
  type ProbedPlace,
  type ProbeEdges,
} from './agent-checks.ts';
import { type DoctorEntry, type DoctorReport, reportOf, shown } from './report.ts';
import { isForChat } from '../../engines/models.ts';

interface DoctorDeps extends ProbeEdges {
  readonly agent: ExpectedAgent;
  readonly engines: EngineSearch;
  /** Started and stopped by the caller. */
  readonly telemetry: TelemetryWatch;
  readonly gateway: GatewayVerdict | null;
  /** What the gateway of this process has seen; left out where none runs. */
  readonly cuts?: readonly WindowCut[];
}

/** The state of an agent that has served nothing; the checks do not depend on it. */
const UNUSED: AgentState = {
  mode: 'on',
  inFlight: 0,
  requestsServed: 0,
  tokensGenerated: 0,
  decodeTps: null,
  lastModel: null,
  region: null,
  agentVersion: '',
  agentUrl: '',
  uptimeS: 0,
  energy: undefined,
};

/**
 * Runs the verification checks of a registry (docs/reference/agent-protocol.md) from this side, and the checks that they depend
 * on.
 */
export async function runChecks(deps: DoctorDeps): Promise<DoctorReport> {
  const { agent, telemetry, clock } = deps;
  const nonce = newSecret();
  const [search, ownAgent, reading] = await Promise.all([
    findEngine(deps.engines, deps, deps.cuts),
    checkAgent(agent, nonce, deps),
    firstReading(telemetry, clock),
  ]);
  const view = search.engine?.view ?? null;
  const record = agentRecord(reading, view, UNUSED);
  const place = placeOf(ownAgent.origin, agent, search);
  const { current_model: model, engine_health: health } = record;
  // If an unhealthy engine offers no model, the engine has to be fixed first.
  const isWorthTrying = model !== null || health.status === 'ok';
  const inference =
    place !== null && isWorthTrying ? await checkInference(place, model, nonce, deps) : [];
  const entries = [
    search.entry,
    ...ownAgent.entries,
    checkEngineHealth(record, view?.baseUrl ?? null),
    checkGpus(record, reading, view),
    ...inference,
  ];
  return reportOf(entries, deps.gateway);
}

/** Prefers the agent to the engine, because gateways talk to the agent. */
function placeOf(
  agentOrigin: string | null,
  { gatewayToken }: ExpectedAgent,
  { engine }: EngineSearchResult,
): ProbedPlace | null {
  if (agentOrigin !== null) return { origin: agentOrigin, basePath: '', gatewayToken };
  if (engine === null) return null;
  const { origin, authorization } = engine.address;
  return { origin, authorization, basePath: engine.view.baseUrl.slice(origin.length) };
}

interface EngineSearch extends Partial<EnginePlace> {
  readonly pinned: EnginePlace['pinned'];
  /** Ports of this program, which are never tried as an engine's. */
  readonly ownPorts: readonly number[];
}

/** The engine that the agent would serve; null if there is none. */
interface EngineSearchResult {
  readonly entry: DoctorEntry;
  readonly engine: { readonly view: EngineView; readonly address: EngineAddress } | null;
}

async function findEngine(
  search: EngineSearch,
  edges: AskEdges,
  cuts: readonly WindowCut[] = [],
): Promise<EngineSearchResult> {
  const { pinned, ownPorts, ports = ENGINE_PORTS, fault = null } = search;
  if (fault !== null) return { engine: null, entry: unusable(fault) };
  const places = pinned === null ? localAddresses(ports, ownPorts) : [[pinned]];
  const looked = await Promise.all(
    places.map((addresses) =>
      lookInTurn(addresses, (address) => lookAt(address, pinned !== null, edges)),
    ),
  );
  const seen = looked.filter((each) => each !== null);
  const engines = seen.flatMap(({ address, look }) =>
    look.kind === 'found' ? [{ address, view: found(address, look.found, null).view }] : [],
  );
  const at = (kind: 'stranger' | 'silent') =>
    seen.flatMap(({ address, look }) => (look.kind === kind ? [address.origin] : []));
  const view = chosen(
    engines.map((engine) => engine.view),
    null,
  );
  const silent = at('silent');
  const where = pinned === null ? `ports ${ports.join(', ')} of this machine` : pinned.origin;
  const output = [
    ...engines.map(
      (engine) => `${engine.view.kind} at ${engine.view.baseUrl}: ${engine.view.health.status}`,
    ),
    ...at('stranger').map((origin) => `an unknown program at ${origin}`),
    ...silent.map(
      (origin) => `a program at ${origin} that accepts connections but does not answer`,
    ),
  ].join('; ');
  return {
    engine: engines.find((engine) => engine.view === view) ?? null,
    entry: {
      name: 'engine found',
      passed: view !== null,
      tried: `looking for an engine at ${where}`,
      output: shown(output === '' ? 'nothing answers' : output),
      remedy: view === null ? remedyFor(pinned, silent.length > 0) : windowRemedy(view, cuts),
    },
  };
}

function unusable(fault: string): DoctorEntry {
  return {
    name: 'engine found',
    passed: false,
    tried: 'INGLENOOK_ENGINE_URL',
    output: 'the address cannot be used, so no engine was searched for',
    remedy: fault,
  };
}

function remedyFor(pinned: EngineAddress | null, isSilent: boolean): string {
  if (isSilent) return 'If that is the engine, it hangs: restart it.';
  return pinned === null
    ? 'Start an engine (vLLM, llama.cpp, Ollama, LM Studio …), or set INGLENOOK_ENGINE_URL if it listens elsewhere.'
    : 'Start that engine, or correct INGLENOOK_ENGINE_URL.';
}

/** Driver tools may take seconds, especially on the first call. */
const READING_MS = 10_000;

/** The first GPU reading, or what is known when that takes too long. */
async function firstReading(telemetry: TelemetryWatch, clock: Clock): Promise<Telemetry> {
  await untilGpusRead(telemetry, { clock, untilTicks: clock.ticks() + READING_MS });
  return telemetry.read();
}

function checkGpus(
  { gpu }: AgentRecord,
  { gpus }: Telemetry,
  engine: EngineView | null,
): DoctorEntry {
  const passed = gpu.count > 0;
  const [problem] = gpus.problems;
  const cards = gpus.devices
    .filter(({ fault }) => fault === null)
    .map((device, index) => `${gpu.devices[index]?.name}: ${readingsText(device)}`);
  const faults = gpus.devices.flatMap(({ name, fault }) =>
    fault === null ? [] : [`${name ?? 'a GPU'}: ${fault}`],
  );
  const problems = gpus.problems.map(({ tool, happened }) => `${tool}: ${happened}`);
  const output = passed ? cards : [...faults, ...problems];
  return {
    name: CHECKS.gpuCount,
    passed,
    tried: problem?.tried ?? 'the tools and files of the GPU drivers',
    output: shown(output.join('; ') || 'no answer from the drivers yet'),
    remedy: passed
      ? unusedRemedy(engine)
      : remedyWithout(problem?.remedy ?? LOOK_AT_TOOL, engine?.baseUrl ?? null),
  };
}

/** Where the engine says that a model is in memory and nothing of it in the GPU's; null if it says nothing of the kind. */
function unusedRemedy(engine: EngineView | null): string | null {
  const unused = engine?.facts.find((model) => model.loaded === true && model.vram_bytes === 0);
  if (unused === undefined) return null;
  // Ollama does not say so itself; most often it is after a sleep (ollama/ollama#5464, #10053).
  return `The engine runs ${unused.id} on the processor, not on the GPU: restart it. If the machine has slept, on NVIDIA and Linux first run: sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm.`;
}

const LOOK_AT_TOOL = "Run the GPU driver's tool by hand and check its output.";

/** Gateways accept no machine without a GPU, but this machine's own gateway can use the engine without the agent. */
function remedyWithout(remedy: string, engineUrl: string | null): string {
  return engineUrl === null
    ? remedy
    : `${remedy} If it has none, let Inglenook use the engine directly: inglenook set local.baseUrl ${engineUrl}`;
}

function checkEngineHealth(
  { engine_health: health }: AgentRecord,
  baseUrl: string | null,
): DoctorEntry {
  const passed = health.status === 'ok';
  return {
    name: CHECKS.engineHealth,
    passed,
    tried: baseUrl === null ? 'nothing: no engine was found' : `the health of ${baseUrl}`,
    output: shown(JSON.stringify(health)),
    remedy: passed ? null : (REMEDIES[health.status] ?? 'Check the log of the engine.'),
  };
}

const REMEDIES: Readonly<Record<string, string>> = {
  'no engine found': 'Start an engine, or set INGLENOOK_ENGINE_URL to its address.',
  loading: 'Wait until the engine has loaded its model.',
  unauthorized:
    'The engine requires a key: set INGLENOOK_ENGINE_URL to its address and INGLENOOK_ENGINE_API_KEY to its key.',
  unreachable: 'Start the engine, or correct INGLENOOK_ENGINE_URL.',
  unresponsive: 'It accepts connections but does not answer: restart the engine.',
};

/** Claude Code and its like begin with 15,000 to 20,000 tokens of prompt and tools (docs.ollama.com/context-length asks for 64,000). */
const ENOUGH_TOKENS = 32_000;

/** How the owner of an engine gives it a larger window. */
const LARGER_WINDOW: Partial<Record<EngineKind, readonly [name: string, remedy: string]>> = {
  ollama: ['Ollama', 'set OLLAMA_CONTEXT_LENGTH'],
  'llama.cpp': ['llama.cpp', 'start it with a larger --ctx-size, or fewer --parallel'],
  lmstudio: ['LM Studio', 'load the model with a longer context length'],
  vllm: ['vLLM', 'start it with a larger --max-model-len'],
};

const NUMBER = new Intl.NumberFormat('en');

/** A model of which a gateway has seen that its engine reads only so much of longer prompts. */
export interface WindowCut {
  /** Empty for all but those that answered most, and where an upstream chose it. */
  readonly model: string;
  readonly tokens: number;
}

/** What to do about a window that is too small for coding agents; null if it is large enough, or unknown. */
function windowRemedy({ kind, facts }: EngineView, cuts: readonly WindowCut[] = []): string | null {
  const caught = cuts.map(
    ({ model, tokens }) =>
      `Prompts for ${model} were cut to ${NUMBER.format(tokens)} tokens without an error: give it a larger context window.`,
  );
  const said = [tooSmall({ kind, facts }), ...caught].filter((each) => each !== null);
  return said.length === 0 ? null : said.join(' ');
}

function tooSmall({ kind, facts }: Pick<EngineView, 'kind' | 'facts'>): string | null {
  const [name, remedy] = LARGER_WINDOW[kind] ?? [];
  const lengths = facts
    .filter((model) => model.loaded === true && isForChat(model))
    .flatMap(({ context_length: length }) => length ?? []);
  const smallest = Math.min(...lengths);
  if (name === undefined || smallest >= ENOUGH_TOKENS) return null;
  return `${name} serves ${NUMBER.format(smallest)} tokens; coding agents need ${NUMBER.format(ENOUGH_TOKENS)} or more: ${remedy}.`;
}

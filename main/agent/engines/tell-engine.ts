import type { EngineKind } from '#shared/engines.ts';
import { sleep } from '../../platform/clock.ts';
import type { FetchEdges, FetchResult } from '../../platform/http/fetch-body.ts';
import { memberOf, parseJson, textOf } from '../../platform/json.ts';
import type { EngineView } from '../../engines/adapters/engine-view.ts';
import { type EngineAddress, type EngineRequest, fetchFrom } from '../../engines/adapters/probe.ts';

/** An engine of this machine as last read, and where it is. */
export interface ReachableEngine {
  readonly view: EngineView;
  readonly address: EngineAddress;
}

interface TellFailure {
  readonly kind: 'failed';
  /** For people. */
  readonly happened: string;
  /** Null if there is none but to try again. */
  readonly remedy: string | null;
}

export type TellResult = { readonly kind: 'done' } | TellFailure;

interface TellEdges extends FetchEdges {
  /** The engine as it is now; null once it has gone. */
  readonly readAgain: () => Promise<EngineView | null>;
  /** Ends the waiting, not what the engine does. */
  readonly signal: AbortSignal;
}

export type ModelAction = 'load' | 'unload';

/** Reading a large model from a hard disk takes minutes; unloading waits at most for a request that still runs. */
const TIMEOUT_MS: Readonly<Record<ModelAction, number>> = { load: 600_000, unload: 60_000 };
/** llama-swap passes on the answer of the server that it has started. */
const MAX_BYTES = 256 * 1024;
const POLL_MS = 200;

/** Has an engine load or unload a model; resolves once the engine says that it has. Never rejects. */
export async function tellEngine(
  { view, address }: ReachableEngine,
  { action, model }: { readonly action: ModelAction; readonly model: string },
  edges: TellEdges,
): Promise<TellResult> {
  const { clock, readAgain, signal } = edges;
  const name = `${view.kind} at ${view.baseUrl}`;
  const control = controlOf(view.kind);
  if (control === null) return holdsForLife(view.kind, view.baseUrl);
  const timeoutMs = TIMEOUT_MS[action];
  const deadline = clock.ticks() + timeoutMs;
  const failed = (happened: string, remedy: string | null): TellFailure => ({
    kind: 'failed',
    happened: `${name} ${happened}`,
    remedy,
  });
  const answer = await sendFirstAccepted(control[action](model), address, timeoutMs, edges);
  for (;;) {
    const now = await readAgain();
    if (isSo(now, action, model)) return DONE;
    // Without a list of what is loaded, only the answer tells.
    if (answer.kind === 'accepted' && now?.loaded === null) return DONE;
    if (answer.kind === 'unknown_route')
      return failed(`has no way to ${action} a model`, control.remedy);
    if (answer.kind === 'refused') return failed(`did not ${action} ${model}: ${answer.why}`, null);
    if (clock.ticks() >= deadline || signal.aborted) {
      const limit = `${timeoutMs / 60_000} min`;
      return failed(`has not ${action}ed ${model} within ${limit}`, control.remedy);
    }
    await sleep(clock, POLL_MS, signal);
  }
}

/** What is said of an engine that has no way to load and unload models. */
export function holdsForLife(kind: EngineKind, baseUrl: string): TellFailure {
  return {
    kind: 'failed',
    happened: `${kind} at ${baseUrl} holds its model in memory as long as it runs`,
    remedy: 'Stop it while you need the memory.',
  };
}

const DONE: TellResult = { kind: 'done' };

function isSo(engine: EngineView | null, action: ModelAction, model: string): boolean {
  if (engine === null) return action === 'unload';
  if (engine.loaded === null) return false;
  return action === 'load' ? holds(engine.loaded, model) : !engine.loaded.includes(model);
}

/** Ollama adds a tag to a name without one; LM Studio numbers further instances of a model. */
export function holds(loaded: readonly string[], model: string): boolean {
  return loaded.some(
    (id) => id === model || id === `${model}:latest` || id.replace(/:\d+$/, '') === model,
  );
}

type CommandAnswer =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'unknown_route' }
  | { readonly kind: 'refused'; readonly why: string };

async function sendFirstAccepted(
  commands: readonly ModelCommand[],
  engine: EngineAddress,
  timeoutMs: number,
  edges: FetchEdges,
): Promise<CommandAnswer> {
  let last: CommandAnswer = { kind: 'unknown_route' };
  for (const { headers: own = [], ...command } of commands) {
    const headers = ['accept', 'application/json', ...own];
    const request = { ...command, headers, timeoutMs, maxBytes: MAX_BYTES };
    last = commandAnswer(await fetchFrom(engine, request, edges));
    if (last.kind === 'accepted') return last;
  }
  return last;
}

/** The statuses of servers that do not know a path, or not with this method. */
const UNKNOWN_ROUTE: ReadonlySet<number> = new Set([404, 405, 501]);
const MAX_WHY_CHARS = 200;

function commandAnswer(result: FetchResult): CommandAnswer {
  if (result.kind === 'too_large') return { kind: 'accepted' };
  if (result.kind !== 'response') return { kind: 'refused', why: result.detail };
  if (result.status < 400) return { kind: 'accepted' };
  const said = result.body.toString('utf8');
  const why = errorIn(said);
  // Ollama answers 404 for a model that it does not have, and says so.
  if (UNKNOWN_ROUTE.has(result.status) && !/model/i.test(why)) return { kind: 'unknown_route' };
  return { kind: 'refused', why: why.slice(0, MAX_WHY_CHARS) || `HTTP ${result.status}` };
}

function errorIn(said: string): string {
  const json = parseJson(said);
  return textOf(memberOf(json, 'error', 'message')) ?? textOf(memberOf(json, 'error')) ?? said;
}

type ModelCommand = Omit<EngineRequest, 'method' | 'timeoutMs' | 'maxBytes'>;

/** How engines of one kind are told which models to hold in memory. */
interface ModelControl {
  /** One after the other until one is accepted. */
  load(model: string): readonly ModelCommand[];
  unload(model: string): readonly ModelCommand[];
  /** What the owner has to do if the engine has no such route. */
  readonly remedy: string;
  /** It leaves idle models in memory, and loads one that is not there when it is asked for. */
  readonly leavesIdle?: true;
}

/**
 * Empty for engines that hold their one model as long as they run. Whether a command had an effect is read from the
 * engine afterwards: some answer before it is done, and LM Studio answers 200 to paths that it does not know.
 */
const CONTROLS: Partial<Record<EngineKind, ModelControl>> = {
  // github.com/ollama/ollama/blob/main/docs/api.md#unload-a-model. An embedding model refuses the first of the two ways
  // to load; without an input the second does nothing else.
  ollama: {
    load: (model) => [
      { path: '/api/generate', json: { model, stream: false } },
      { path: '/api/embed', json: { model, input: [] } },
    ],
    unload: (model) => [{ path: '/api/generate', json: { model, keep_alive: 0 } }],
    remedy: 'Update Ollama.',
  },
  // lmstudio.ai/docs/developer/rest/load and /unload, since 0.4. A second instance of a model has the id `model:2`.
  lmstudio: {
    load: (model) => [{ path: '/api/v1/models/load', json: { model: model.replace(/:\d+$/, '') } }],
    unload: (model) => [{ path: '/api/v1/models/unload', json: { instance_id: model } }],
    remedy: 'Update LM Studio to 0.4 or later.',
  },
  // github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md#using-multiple-models. Answers at once.
  'llama.cpp': {
    load: (model) => [{ path: '/models/load', json: { model } }],
    unload: (model) => [{ path: '/models/unload', json: { model } }],
    remedy:
      'Start llama-server as a router (with --models-dir in place of -m), or stop it while you need the memory.',
    leavesIdle: true,
  },
  // github.com/mostlygeek/llama-swap/blob/main/internal/server/server.go. Any request to a model's own server loads it.
  'llama-swap': {
    load: (model) => [{ path: `/upstream/${encodeURIComponent(model)}/health` }],
    unload: (model) => [{ path: `/api/models/unload/${encodeURIComponent(model)}`, json: {} }],
    remedy: 'Update llama-swap.',
    leavesIdle: true,
  },
  // docs.vllm.ai/en/latest/features/sleep_mode. Level 1 moves the weights to the machine's own memory.
  vllm: {
    load: () => [{ path: '/wake_up', json: {} }],
    unload: () => [{ path: '/sleep?level=1', json: {} }],
    remedy:
      'Start vLLM with --enable-sleep-mode and VLLM_SERVER_DEV_MODE=1, or stop it while you need the memory.',
  },
  // github.com/docker/model-runner/blob/main/pkg/inference/scheduling/http_handler.go
  docker: {
    load: (model) => [
      {
        path: '/engines/v1/chat/completions',
        json: { model, messages: [] },
        headers: ['x-preload-only', 'true'],
      },
    ],
    unload: (model) => [{ path: '/engines/unload', json: { models: [model] } }],
    remedy: 'Update Docker Model Runner.',
  },
};

/** Null for an engine that holds its model as long as it runs. */
export function controlOf(kind: EngineKind): ModelControl | null {
  return CONTROLS[kind] ?? null;
}

import type { EngineKind } from '../../engines/adapters/engine-view.ts';

export interface ModelCommand {
  readonly path: string;
  /** Sent with POST; left out for a GET. */
  readonly json?: unknown;
  /** Names and values in turn. */
  readonly headers?: readonly string[];
}

/** How engines of one kind are told which models to hold in memory. */
export interface ModelControl {
  /** One after the other until one is accepted. */
  load(model: string): readonly ModelCommand[];
  unload(model: string): readonly ModelCommand[];
  /** What the owner has to do if the engine has no such route. */
  readonly remedy: string;
  /** Whether a request for a model that is not loaded loads it. */
  readonly loadsOnRequest: boolean;
  /** Whether it unloads idle models by itself. */
  readonly unloadsIdle: boolean;
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
    loadsOnRequest: true,
    unloadsIdle: true,
  },
  // lmstudio.ai/docs/developer/rest/load and /unload, since 0.4. A second instance of a model has the id `model:2`.
  lmstudio: {
    load: (model) => [{ path: '/api/v1/models/load', json: { model: model.replace(/:\d+$/, '') } }],
    unload: (model) => [{ path: '/api/v1/models/unload', json: { instance_id: model } }],
    remedy: 'Update LM Studio to 0.4 or later.',
    loadsOnRequest: true,
    unloadsIdle: true,
  },
  // github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md#using-multiple-models. Answers at once.
  'llama.cpp': {
    load: (model) => [{ path: '/models/load', json: { model } }],
    unload: (model) => [{ path: '/models/unload', json: { model } }],
    remedy:
      'Start llama-server as a router (with --models-dir in place of -m), or stop it while you need the memory.',
    loadsOnRequest: true,
    unloadsIdle: false,
  },
  // github.com/mostlygeek/llama-swap/blob/main/internal/server/server.go. Any request to a model's own server loads it.
  'llama-swap': {
    load: (model) => [{ path: `/upstream/${encodeURIComponent(model)}/health` }],
    unload: (model) => [
      { path: `/api/models/unload/${encodeURIComponent(model)}`, json: {} },
      // Earlier versions unload all or nothing.
      { path: '/unload' },
    ],
    remedy: 'Update llama-swap.',
    loadsOnRequest: true,
    unloadsIdle: false,
  },
  // docs.vllm.ai/en/latest/features/sleep_mode. Level 1 moves the weights to the machine's own memory.
  vllm: {
    load: () => [{ path: '/wake_up', json: {} }],
    unload: () => [{ path: '/sleep?level=1', json: {} }],
    remedy:
      'Start vLLM with --enable-sleep-mode and VLLM_SERVER_DEV_MODE=1, or stop it while you need the memory.',
    loadsOnRequest: false,
    unloadsIdle: false,
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
    loadsOnRequest: true,
    unloadsIdle: true,
  },
};

/** Null for an engine that holds its model as long as it runs. */
export function controlOf(kind: EngineKind): ModelControl | null {
  return CONTROLS[kind] ?? null;
}

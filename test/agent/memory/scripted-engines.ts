import type { EngineKind } from '#shared/engines.ts';
import { type EngineCall, listed, ok, type Route, startAnswering } from '../fake-engine.ts';

/** An engine that loads and unloads models as its kind does. */
export interface ScriptedEngine {
  readonly url: string;
  readonly loaded: Set<string>;
  /** Method, path and body of each request that was no GET, in order, and those GETs that loaded something. */
  readonly orders: string[];
  /** Resolves with the first chat, which is never answered. */
  readonly chatted: Promise<void>;
}

interface JsonCall extends EngineCall {
  readonly json: Record<string, unknown>;
}

type Script = (asked: JsonCall, loaded: Set<string>) => Route | null;

const OWN = ['small', 'large'];
const nameIn = ({ json }: JsonCall) => (typeof json['model'] === 'string' ? json['model'] : '');

/** The headers of mlx_lm, by which it is known. */
const OF_PYTHON = { server: 'BaseHTTP/0.6 Python/3.12.7' };

/** What each kind answers, after its own source or documentation. */
const SCRIPTS = {
  // github.com/ollama/ollama/blob/main/server/routes.go: GenerateHandler, EmbedHandler, PsHandler.
  ollama(asked, loaded) {
    const model = nameIn(asked);
    switch (asked.path) {
      case '/':
        return 'Ollama is running';
      case '/api/version':
        return ok({ version: '0.12.0' });
      case '/v1/models':
        return listed('library', ...OWN);
      case '/api/tags':
        return ok({ models: OWN.map((name) => ({ name, size: 4e9 })) });
      case '/api/ps':
        return ok({ models: [...loaded].map((name) => ({ name, size_vram: 5e9 })) });
      case '/api/generate':
        if (!OWN.includes(model))
          return { status: 404, body: { error: `model '${model}' not found` } };
        if (asked.json['keep_alive'] === 0) loaded.delete(model);
        else loaded.add(model);
        return ok({ model, response: '', done: true });
      default:
        return null;
    }
  },
  // github.com/lmstudio-ai/docs/tree/main/1_developer/2_rest: list.md, load.md, unload.md.
  lmstudio(asked, loaded) {
    switch (asked.path) {
      case '/lmstudio-greeting':
        return ok({ lmstudio: true });
      case '/v1/models':
        return listed('organization_owner', ...OWN);
      case '/api/v1/models': {
        const instances = (key: string) => (loaded.has(key) ? [{ id: key }] : []);
        const models = OWN.map((key) => ({ key, type: 'llm', loaded_instances: instances(key) }));
        return ok({ models });
      }
      case '/api/v1/models/load':
        loaded.add(nameIn(asked));
        return ok({ model_instance_id: nameIn(asked), load_time_seconds: 9.1 });
      case '/api/v1/models/unload': {
        const id = String(asked.json['instance_id']);
        loaded.delete(id);
        return ok({ instance_id: id });
      }
      default:
        return ok({ error: 'Unexpected endpoint or method. Returning 200 anyway' });
    }
  },
  // github.com/mostlygeek/llama-swap/blob/main/internal/server: server.go, api.go, apigroup.go.
  'llama-swap'({ method, path }, loaded) {
    const [, named = ''] = /^\/(?:upstream|api\/models\/unload)\/([^/]+)/.exec(path) ?? [];
    if (path === '/v1/models') return listed('llama-swap', ...OWN);
    if (path === '/running') {
      return ok({ running: [...loaded].map((model) => ({ model, state: 'ready' })) });
    }
    if (path.startsWith('/upstream/')) {
      loaded.add(named);
      return ok({ status: 'ok' });
    }
    if (method === 'POST' && path.startsWith('/api/models/unload/')) {
      loaded.delete(named);
      return 'OK';
    }
    return null;
  },
  // github.com/vllm-project/vllm/blob/main/vllm/entrypoints/serve/sleep/api_router.py.
  vllm({ method, path }, loaded) {
    switch (path) {
      case '/v1/models':
        return ok({ data: [{ id: 'small', owned_by: 'vllm', root: 'Org/small' }] });
      case '/health':
        return '';
      case '/is_sleeping':
        return ok({ is_sleeping: !loaded.has('small') });
      case '/sleep?level=1':
        if (method === 'POST') loaded.delete('small');
        return '';
      case '/wake_up':
        if (method === 'POST') loaded.add('small');
        return '';
      default:
        return null;
    }
  },
  // github.com/docker/model-runner/blob/main/pkg/inference/scheduling/http_handler.go, api.go.
  docker(asked, loaded) {
    switch (asked.path) {
      case '/engines/v1/models':
        return listed('docker', ...OWN);
      case '/engines/ps':
        return ok([...loaded].map((name) => ({ backend_name: 'llama.cpp', model_name: name })));
      case '/engines/unload': {
        const { models } = asked.json as { readonly models: readonly string[] };
        for (const model of models) loaded.delete(model);
        return ok({ unloaded_runners: models.length });
      }
      case '/engines/v1/chat/completions':
        if (asked.headers['x-preload-only'] === 'true') loaded.add(nameIn(asked));
        return '';
      default:
        return null;
    }
  },
  // It holds its one model as long as it runs.
  mlx: ({ path }) =>
    path === '/v1/models'
      ? listed(null, 'small')
      : path === '/health'
        ? ok({ status: 'ok' })
        : null,
} satisfies Partial<Record<EngineKind, Script>>;

export type ScriptedKind = keyof typeof SCRIPTS;

/** Starts one that holds `held`; it ends with the test. */
export async function startScripted(
  kind: ScriptedKind,
  held: readonly string[],
): Promise<ScriptedEngine> {
  const script: Script = SCRIPTS[kind];
  const loaded = new Set(held);
  const orders: string[] = [];
  const { promise: chatted, resolve: onChat } = Promise.withResolvers<void>();
  const { url } = await startAnswering(
    (call) => {
      const { method, path, body } = call;
      const json = (body === '' ? {} : JSON.parse(body)) as Record<string, unknown>;
      // That of a verification has a limit, and is refused: while it waits, no memory is freed.
      if (path === '/v1/chat/completions' && json['max_tokens'] === undefined) {
        onChat();
        return { body: '', hangs: true };
      }
      if (method !== 'GET') orders.push(`${method} ${path} ${body}`);
      const before = loaded.size;
      const route = script({ ...call, json }, loaded);
      if (method === 'GET' && loaded.size !== before) orders.push(`GET ${path}`);
      return route ?? { status: 404, body: 'Not Found' };
    },
    kind === 'mlx' ? OF_PYTHON : {},
  );
  return { url, loaded, orders, chatted };
}

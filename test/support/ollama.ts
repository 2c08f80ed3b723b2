import { startUpstream, type Upstream, completion } from './upstream.ts';
import { usageOf } from './usage.ts';

/** A model that was pulled or created. */
export interface OllamaModel {
  /** Of the window that it is loaded with, as `PARAMETER num_ctx` sets it; left out: the engine's own. */
  readonly numCtx?: number;
  readonly sizeBytes?: number;
  /** What its GGUF file says that it was trained with. */
  readonly contextLength: number;
}

export interface Ollama extends Upstream {
  readonly models: Map<string, OllamaModel>;
  /** What it holds in memory. */
  loaded: string | null;
}

/** Of a card with less than 24 GiB (docs.ollama.com/context-length). */
const OWN_CTX = 4096;
const BYTES_PER_TOKEN = 4;

/**
 * A scripted Ollama on a real socket, by docs.ollama.com/api and server/routes.go: it loads one model at a time with its own
 * window, or that of the model's parameters, reads that much of a longer prompt, and says nothing of its cache. A
 * created model shares the file of the one that it comes from.
 */
export async function startOllama(pulled: Readonly<Record<string, OllamaModel>>): Promise<Ollama> {
  const models = new Map(Object.entries(pulled));
  const windowOf = (name: string) => models.get(name)?.numCtx ?? OWN_CTX;
  const named = (name: string) => (name.includes(':') ? name : `${name}:latest`);
  const sizeOf = (name: string) => models.get(name)?.sizeBytes ?? 5_000_000_000;
  const digestOf = (name: string) => `sha256:${Buffer.from(name).toString('hex')}`;
  const pages = (): Record<string, unknown> => ({
    '/': 'Ollama is running',
    '/api/version': { version: '0.30.2' },
    '/v1/models': { data: [...models.keys()].map((id) => ({ id, owned_by: 'library' })) },
    '/api/tags': {
      models: [...models.keys()].map((name) => ({
        name,
        size: sizeOf(name),
        digest: digestOf(name),
        capabilities: ['completion', 'tools'],
      })),
    },
    '/api/ps': {
      models: [engine.loaded ?? []].flat().map((name) => ({
        name,
        size_vram: sizeOf(name),
        context_length: windowOf(name),
      })),
    },
  });
  const upstream = await startUpstream(({ path, json, res }) => {
    const say = (status: number, body: object) => res.writeHead(status).end(JSON.stringify(body));
    const name = named(String(json['model']));
    const model = models.get(name);
    const missing = (what = name) => say(404, { error: `model '${what}' not found` });
    switch (path) {
      case '/api/show':
        if (model === undefined) return void missing();
        return void say(200, { capabilities: ['completion', 'tools'], model_info: infoOf(model) });
      case '/api/create': {
        const source = named(String(json['from']));
        const from = models.get(source);
        if (from === undefined) return void missing(source);
        const { num_ctx: numCtx } = json['parameters'] as { readonly num_ctx: number };
        models.set(String(json['model']), { ...from, numCtx });
        return void say(200, { status: 'success' });
      }
      case '/api/delete':
        if (!models.delete(name)) return void missing();
        if (engine.loaded === name) engine.loaded = null;
        return void res.writeHead(200).end();
      default: {
        if (model === undefined) return void missing();
        engine.loaded = name;
        const asked = Math.ceil(JSON.stringify(json['messages']).length / BYTES_PER_TOKEN);
        const usage = usageOf(Math.min(asked, windowOf(name)), 5);
        return void say(200, { ...completion('yes'), model: name, usage });
      }
    }
  });
  upstream.answerGet = answersPages(pages);
  const engine: Ollama = Object.assign(upstream, { models, loaded: null });
  return engine;
}

/** Answers its GETs by their paths. */
export const answersPages =
  (pages: () => Readonly<Record<string, unknown>>): Upstream['answerGet'] =>
  ({ path, res }) => {
    const page = pages()[path];
    res.writeHead(page === undefined ? 404 : 200);
    res.end(typeof page === 'string' ? page : JSON.stringify(page ?? {}));
  };

/** Of a model with as many layers and heads as Qwen3 8B: 144 KiB for each token of its context. */
const infoOf = ({ contextLength }: OllamaModel) => ({
  'general.architecture': 'qwen3',
  'qwen3.context_length': contextLength,
  'qwen3.block_count': 36,
  'qwen3.attention.head_count': 32,
  'qwen3.attention.head_count_kv': 8,
  'qwen3.attention.key_length': 128,
  'qwen3.embedding_length': 4096,
});

import { expect, onTestFinished, test } from 'vitest';
import { shownLocation } from '../../../main/engines/adapters/probe.ts';
import { lookAt } from '../../../main/engines/detect.ts';
import { systemClock } from '../../../main/platform/clock.ts';
import { createHttpClient } from '../../../main/platform/http/client.ts';
import { type FakeEngine, listed, ok, type Route, startEngine } from '../fake-engine.ts';
import { fixture } from '../fixture.ts';

interface Sample {
  readonly routes: Readonly<Record<string, Route>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly expected: Record<string, unknown>;
}

const GEMMA = { context_length: 4096, max_context_length: 131_072, size_bytes: 7e9 };
const HEALTHY = { '/health': ok({ status: 'ok' }) };

/** Written by hand after the documentation and the public source of each engine. */
const SAMPLES: Readonly<Record<string, Sample>> = {
  vllm: {
    headers: { server: 'uvicorn' },
    routes: {
      '/health': '',
      '/version': ok({ version: '0.11.0' }),
      '/v1/models': ok({
        object: 'list',
        data: [{ id: 'qwen', owned_by: 'vllm', root: 'Qwen/Qwen3-32B', max_model_len: 32_768 }],
      }),
      '/metrics': fixture('vllm-metrics.txt'),
    },
    expected: {
      health: { status: 'ok', code: 200 },
      models: ['qwen'],
      loaded: ['qwen'],
      location: 'Qwen/Qwen3-32B',
      facts: [{ loaded: true, context_length: 32_768 }],
    },
  },
  'llama.cpp': {
    headers: { server: 'llama.cpp' },
    routes: {
      ...HEALTHY,
      '/v1/models': ok({
        data: [{ id: 'gemma', owned_by: 'llamacpp', meta: { n_ctx_train: 131_072, size: 7e9 } }],
      }),
      // As llama-server b11669 answers: the window is that of one slot.
      '/props': ok({
        model_path: '/data/gemma-Q4_K_M.gguf',
        default_generation_settings: { n_ctx: 4096 },
        total_slots: 4,
        modalities: { vision: true, audio: false },
        chat_template_caps: { supports_tools: true },
      }),
      '/metrics': fixture('llama-cpp-metrics.txt'),
    },
    expected: {
      loaded: ['gemma'],
      location: '/data/gemma-Q4_K_M.gguf',
      facts: [{ use: null, vision: true, tools: true, ...GEMMA }],
      metrics: { running: 0, generatedTokens: 4000 },
    },
  },
  ollama: {
    routes: {
      '/': 'Ollama is running',
      '/api/version': ok({ version: '0.30.2' }),
      // As Ollama 0.30 lists models (ollama/ollama#16665 shows an entry) and runs them (docs.ollama.com/api/ps).
      '/v1/models': listed('library', 'nomic-embed-text:latest', 'gemma4:12b', 'qwen3:4b'),
      '/api/tags': ok({
        models: [
          { name: 'nomic-embed-text:latest', size: 274_302_450, capabilities: ['embedding'] },
          {
            name: 'gemma4:12b',
            size: 8_149_190_253,
            capabilities: ['completion', 'vision', 'tools', 'thinking'],
            details: { context_length: 131_072 },
          },
          { name: 'qwen3:4b', size: 2_620_788_260, capabilities: ['completion', 'tools'] },
        ],
      }),
      '/api/ps': ok({
        models: [
          { name: 'qwen3:4b', size: 6_654_289_920, size_vram: 6_654_289_920, context_length: 4096 },
        ],
      }),
    },
    expected: {
      models: ['nomic-embed-text:latest', 'gemma4:12b', 'qwen3:4b'],
      loaded: ['qwen3:4b'],
      metrics: null,
      facts: [
        {
          id: 'nomic-embed-text:latest',
          use: 'embedding',
          loaded: false,
          vision: false,
          tools: false,
          context_length: null,
          size_bytes: 274_302_450,
        },
        {
          id: 'gemma4:12b',
          use: 'chat',
          loaded: false,
          vision: true,
          tools: true,
          // Not the 131,072 that it was trained with: it is cut at what the server is set to.
          context_length: null,
          size_bytes: 8_149_190_253,
        },
        {
          id: 'qwen3:4b',
          use: 'chat',
          loaded: true,
          vision: false,
          tools: true,
          context_length: 4096,
          size_bytes: 2_620_788_260,
          vram_bytes: 6_654_289_920,
        },
      ],
    },
  },
  lmstudio: {
    headers: { 'x-powered-by': 'Express' },
    routes: {
      '*': ok({ error: 'Unexpected endpoint or method. Returning 200 anyway' }),
      '/lmstudio-greeting': ok({ lmstudio: true }),
      '/v1/models': listed('organization_owner', 'nomic-embed', 'qwen/qwen3-4b', 'big'),
      '/api/v1/models': ok({
        models: [
          { key: 'nomic-embed', type: 'embedding', loaded_instances: [{ id: 'nomic-embed' }] },
          // Fields as in lmstudio.ai/docs/developer/rest/list.
          {
            key: 'qwen/qwen3-4b',
            type: 'llm',
            size_bytes: 2_620_000_000,
            max_context_length: 131_072,
            capabilities: { vision: false, trained_for_tool_use: true },
            loaded_instances: [{ id: 'qwen/qwen3-4b', config: { context_length: 8192 } }],
          },
          { key: 'big', type: 'llm', loaded_instances: [] },
        ],
      }),
    },
    expected: {
      models: ['nomic-embed', 'qwen/qwen3-4b', 'big'],
      loaded: ['nomic-embed', 'qwen/qwen3-4b'],
      location: 'qwen/qwen3-4b',
      facts: [
        { use: 'embedding', context_length: null },
        {
          use: 'chat',
          loaded: true,
          vision: false,
          tools: true,
          context_length: 8192,
          max_context_length: 131_072,
          size_bytes: 2_620_000_000,
        },
        { loaded: false, context_length: null },
      ],
    },
  },
  sglang: {
    headers: { server: 'uvicorn' },
    routes: {
      '/health': { status: 503, body: '' },
      '/v1/models': listed('sglang', 'meta-llama/Llama-3.1-8B-Instruct'),
      '/get_model_info': ok({ model_path: '/models/Llama-3.1-8B-Instruct', is_generation: true }),
    },
    expected: {
      health: { status: 'loading', code: 503 },
      location: '/models/Llama-3.1-8B-Instruct',
    },
  },
  tgi: {
    routes: {
      '/health': '',
      '/v1/models': { status: 404, body: {} },
      '/info': ok({
        model_id: 'teknium/OpenHermes-2.5',
        router: 'text-generation-router',
        version: '3.3.0',
      }),
    },
    expected: { models: ['teknium/OpenHermes-2.5'] },
  },
  mlx: {
    headers: { server: 'BaseHTTP/0.6 Python/3.12.7' },
    routes: { ...HEALTHY, '/v1/models': listed(null, 'mlx-community/Qwen3-4B-4bit') },
    expected: { models: ['mlx-community/Qwen3-4B-4bit'], loaded: null },
  },
  jan: {
    routes: {
      '/v1/models': listed('user', 'qwen3-4b'),
      '/openapi.json': ok({ openapi: '3.0.0', info: { title: 'Jan API Server Endpoints' } }),
    },
    expected: { models: ['qwen3-4b'], loaded: ['qwen3-4b'] },
  },
  koboldcpp: {
    headers: { server: 'BaseHTTP/0.6 Python/3.11.0' },
    routes: {
      '/api/extra/version': ok({ result: 'KoboldCpp', version: '1.98' }),
      '/v1/models': listed('koboldcpp', 'koboldcpp/tiny'),
      '/api/version': ok({ version: '0.7.0' }),
    },
    expected: { models: ['koboldcpp/tiny'] },
  },
  docker: {
    routes: {
      '/': 'Docker Model Runner\n\nThe service is running.\n',
      '/v1/models': { status: 404, body: {} },
      '/engines/v1/models': listed('docker', 'ai/smollm2', 'ai/qwen3'),
      '/engines/ps': ok([
        { backend_name: 'llama.cpp', model_name: 'ai/qwen3', mode: 'completion' },
      ]),
    },
    expected: { models: ['ai/smollm2', 'ai/qwen3'], loaded: ['ai/qwen3'] },
  },
};

async function look(engine: FakeEngine) {
  const http = createHttpClient();
  onTestFinished(() => http.close());
  const address = { origin: engine.url, basePath: '', authorization: null };
  return lookAt(address, false, { http, clock: systemClock, memory: new Map() });
}

test.each(Object.entries(SAMPLES))(
  '%s is recognised on any port, with what its models can do, by its answers to GET requests alone',
  async (kind, { routes, headers, expected }) => {
    const engine = await startEngine(routes, headers);
    const seen = await look(engine);
    const apiPath = kind === 'docker' ? '/engines' : '';
    expect(seen).toMatchObject({ kind: 'found', found: { kind, apiPath, detail: expected } });
    expect(engine.asked.filter((line) => !line.startsWith('GET '))).toEqual([]);
    expect(new Set(engine.asked).size).toBe(engine.asked.length);
  },
);

test.each(Object.entries(SAMPLES))(
  'no look finds %s well but without a model, at whichever request its load ends',
  async (_kind, { routes, headers }) => {
    const engine = await startEngine({ ...routes, '/health': ok({ status: 'ok' }) }, headers);
    const empty = { found: { detail: { health: { status: 'ok' }, models: [] } } };
    for (; engine.asked.length >= engine.loading; engine.loading += 1) {
      engine.asked.length = 0;
      expect(await look(engine)).not.toMatchObject(empty);
    }
  },
);

test.each([
  ['vllm-mlx', listed('vllm-mlx', 'a'), ['a']],
  ['oMLX', listed('omlx', 'a', 'b'), ['b']],
])('the server %s is recognised as MLX and reports what is loaded', async (_name, list, loaded) => {
  const status = ok({
    models: [
      { id: 'a', loaded: false },
      { id: 'b', loaded: true },
    ],
  });
  const engine = await startEngine({ ...HEALTHY, '/v1/models': list, '/v1/models/status': status });
  expect(await look(engine)).toMatchObject({ found: { kind: 'mlx', detail: { loaded } } });
});

test.each([
  ['llama.cpp', '/props', ['gemma']],
  ['vllm', '/v1/models', []],
])(
  'a %s that wants a key for %s is recognised and said to need one',
  async (kind, path, models) => {
    const { routes = {}, headers } = SAMPLES[kind] ?? {};
    const refused = { status: 401, body: { error: { message: 'Invalid API Key', code: 401 } } };
    const detail = { health: { status: 'unauthorized', code: 401 }, models };
    const engine = await startEngine({ ...routes, [path]: refused }, headers);
    expect(await look(engine)).toMatchObject({ found: { kind, detail } });
  },
);

test('the agent asks a llama.cpp router only about models that are loaded', async () => {
  const entry = (id: string, value: string) => ({ id, owned_by: 'llamacpp', status: { value } });
  const data = [entry('a', 'unloaded'), entry('b/c', 'loaded')];
  const engine = await startEngine({
    '/health': ok({ status: 'ok' }),
    '/v1/models': ok({ data }),
    '/props?model=b%2Fc&autoload=false': ok({ model_path: '/models/b.gguf' }),
    '/metrics?model=b%2Fc&autoload=false': fixture('llama-cpp-metrics.txt'),
  });
  const found = await look(engine);
  expect(found).toMatchObject({
    found: { detail: { location: '/models/b.gguf', metrics: { running: expect.any(Number) } } },
  });
  engine.routes = { ...engine.routes, '/v1/models': ok({ data: [entry('a', 'unloaded')] }) };
  engine.asked.length = 0;
  await look(engine);
  expect(engine.asked.filter((asked) => asked.includes('model='))).toEqual([]);
});

test.each<[string, FakeEngine['routes']]>([
  ['a web page', { '*': '<!doctype html><title>dev server</title>' }],
  ['a JSON API', { '*': ok({ hello: 'world' }) }],
  ['a gateway to hosted models', { ...HEALTHY, '/v1/models': listed('openai', 'gpt-4o') }],
  [
    'a server for embeddings',
    { '/info': ok({ model_id: 'bge', router: 'text-embeddings-router' }) },
  ],
  ['a page about Ollama', { '*': 'How to see whether Ollama is running' }],
  ['JSON of the wrong shape', { '*': ok({ data: [null, 1, { id: 5 }], models: 'x', info: [] }) }],
])('%s is not taken for an engine', async (_what, routes) => {
  expect((await look(await startEngine(routes))).kind).toBe('stranger');
});

test('the agent gives up a server that never answers after one request', async () => {
  const engine = await startEngine({ '*': { body: '', hangs: true } });
  expect(await look(engine)).toEqual({ kind: 'silent', isLate: true });
  expect(engine.asked).toHaveLength(1);
});

test.each([
  ['Qwen/Qwen3-32B', 'Qwen/Qwen3-32B'],
  ['llama3:8b', 'llama3:8b'],
  ['ai/smollm2:latest', 'ai/smollm2:latest'],
  ['/home/ada/models/gemma-Q4_K_M.gguf', 'gemma-Q4_K_M.gguf'],
  ['models/gemma-Q4_K_M.gguf', 'gemma-Q4_K_M.gguf'],
  ['C:\\Users\\Ada\\models\\gemma.gguf', 'gemma.gguf'],
  ['./models', 'models'],
  ['~/models/qwen', 'qwen'],
  ['/data/models/Qwen3-32B/', 'Qwen3-32B'],
  [
    '/home/ada/.cache/huggingface/hub/models--Qwen--Qwen3-32B/snapshots/9216db5781bf21249d130ec9da846c4624c16137',
    'Qwen/Qwen3-32B',
  ],
])('the model at %s is shown as %s', (location, shown) => {
  expect(shownLocation(location)).toBe(shown);
});

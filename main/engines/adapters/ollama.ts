import type { ModelFacts, ModelUse } from '#shared/models.ts';
import { listOf, memberOf, numberOf, textOf } from '../../platform/json.ts';
import { mostTokens } from '../models.ts';
import { detail, type Engine, type ModelFactsById } from './adapter.ts';
import { type Ask, idsIn } from './probe.ts';

/** Ollama is recognised by its greeting and its version. Others imitate its API, but not both. */
export const ollama: Engine = {
  kind: 'ollama',
  ports: [11434],
  largerWindow: (tokens) => `Set OLLAMA_CONTEXT_LENGTH=${tokens} and restart it.`,
  answersWhileBusy: true,
  async isAt(ask) {
    if (!(await ask('/')).text.startsWith('Ollama is running')) return false;
    return textOf(memberOf((await ask('/api/version')).json, 'version')) !== null;
  },
  async read(ask) {
    const tags = await ask('/api/tags');
    const listed = memberOf(tags.json, 'models');
    const models = idsIn(listed, 'name');
    const running = memberOf((await ask('/api/ps')).json, 'models');
    const loaded = idsIn(running, 'name');
    const said = await saidOf(listOf(listed), listOf(running), ask);
    return detail(tags, { models, loaded, said });
  },
};

/** The most models that one round asks about; the rest follows in the next rounds. */
const MAX_SHOWN = 32;

async function saidOf(
  listed: readonly unknown[],
  running: readonly unknown[],
  ask: Ask,
): Promise<ModelFactsById> {
  const asLoaded = new Map(running.map((model) => [textOf(memberOf(model, 'name')), model]));
  let shown = 0;
  const facts = listed.map(async (model): Promise<[string, Partial<ModelFacts>]> => {
    const name = textOf(memberOf(model, 'name')) ?? '';
    // Since ollama/ollama#10174 the list has them; before, each model must be asked about.
    const told = memberOf(model, 'capabilities');
    const isNeeded = !Array.isArray(told) || asLoaded.has(name);
    const about = isNeeded && (shown += 1) <= MAX_SHOWN ? await show(name, model, ask) : null;
    return [
      name,
      {
        ...abilities(Array.isArray(told) ? told : memberOf(about, 'capabilities')),
        ...largest(memberOf(about, 'model_info')),
        ...(textOf(memberOf(model, 'remote_host')) === null ? {} : { remote: true }),
        context_length: numberOf(memberOf(asLoaded.get(name), 'context_length')),
        size_bytes: numberOf(memberOf(model, 'size')),
        ...vramOf(asLoaded.get(name)),
      },
    ];
  });
  return new Map(await Promise.all(facts));
}

function vramOf(running: unknown): Pick<ModelFacts, 'vram_bytes'> {
  const bytes = numberOf(memberOf(running, 'size_vram'));
  return bytes !== null && Number.isSafeInteger(bytes) && bytes >= 0 ? { vram_bytes: bytes } : {};
}

/** `/api/show` reads the model's file and loads nothing (docs.ollama.com/api-reference/show-model-details). */
async function show(name: string, model: unknown, ask: Ask): Promise<unknown> {
  const digest = textOf(memberOf(model, 'digest'));
  return digest === null ? null : (await ask.once('/api/show', { model: name }, digest)).json;
}

/** The cache has two bytes for each value (docs.ollama.com/faq, OLLAMA_KV_CACHE_TYPE). */
const VALUE_BYTES = 2;

/** What its GGUF file says; layers that share or limit their context take less than this, and say so by a list. */
function largest(
  info: unknown,
): Pick<Partial<ModelFacts>, 'max_context_length' | 'context_token_bytes'> {
  const architecture = textOf(memberOf(info, 'general.architecture')) ?? '';
  const said = (name: string) => numberOf(memberOf(info, `${architecture}.${name}`));
  const most = mostTokens(said('context_length'));
  const [layers, heads, all] = [
    'block_count',
    'attention.head_count_kv',
    'attention.head_count',
  ].map(said);
  const width = said('attention.key_length') ?? (said('embedding_length') ?? 0) / (all ?? Infinity);
  const bytes = 2 * VALUE_BYTES * (layers ?? 0) * (heads ?? 0) * width;
  return { ...most, ...(bytes > 0 && { context_token_bytes: bytes }) };
}

/** Reads `completion`, `tools`, `insert`, `vision`, `embedding`, `thinking`, `image`, `audio` (ollama/ollama#16665). */
function abilities(capabilities: unknown): Partial<ModelFacts> {
  if (!Array.isArray(capabilities) || capabilities.length === 0) return {};
  const has = (name: string) => capabilities.includes(name);
  const use: ModelUse = has('completion') ? 'chat' : has('embedding') ? 'embedding' : 'other';
  return { use, vision: has('vision'), tools: has('tools') };
}

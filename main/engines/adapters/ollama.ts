import type { ModelFacts, ModelUse } from '#shared/models.ts';
import { listOf, memberOf, numberOf, textOf } from '../../platform/json.ts';
import { detail, type Engine, type ModelFactsById } from './adapter.ts';
import { type Ask, idsIn } from './probe.ts';

/** Ollama is recognised by its greeting and its version. Others imitate its API, but not both. */
export const ollama: Engine = {
  kind: 'ollama',
  ports: [11434],
  apiPath: '',
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
    return detail(tags, null, { models, loaded, location: loaded[0] ?? null, said });
  },
};

/** Asked for at once; the rest follows in the next rounds. */
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
    const mayAsk = !Array.isArray(told) && (shown += 1) <= MAX_SHOWN;
    const capabilities = mayAsk ? await shownCapabilities(name, model, ask) : told;
    return [
      name,
      {
        ...abilities(capabilities),
        ...(isElsewhere(model) ? { use: 'other' as const } : {}),
        context_length: numberOf(memberOf(asLoaded.get(name), 'context_length')),
        size_bytes: numberOf(memberOf(model, 'size')),
        ...vramOf(asLoaded.get(name)),
      },
    ];
  });
  return new Map(await Promise.all(facts));
}

/** Passed on to Ollama's cloud (docs.ollama.com/cloud): only an app that names it means it. */
function isElsewhere(model: unknown): boolean {
  return textOf(memberOf(model, 'remote_host')) !== null;
}

function vramOf(running: unknown): Pick<ModelFacts, 'vram_bytes'> {
  const bytes = numberOf(memberOf(running, 'size_vram'));
  return bytes !== null && Number.isSafeInteger(bytes) && bytes >= 0 ? { vram_bytes: bytes } : {};
}

/** `/api/show` reads the model's file and loads nothing (docs.ollama.com/api-reference/show-model-details). */
async function shownCapabilities(name: string, model: unknown, ask: Ask): Promise<unknown> {
  const digest = textOf(memberOf(model, 'digest'));
  if (digest === null) return undefined;
  return memberOf((await ask.once('/api/show', { model: name }, digest)).json, 'capabilities');
}

/** Of `completion`, `tools`, `insert`, `vision`, `embedding`, `thinking`, `image` and `audio` (ollama/ollama#16665). */
function abilities(capabilities: unknown): Partial<ModelFacts> {
  if (!Array.isArray(capabilities) || capabilities.length === 0) return {};
  const has = (name: string) => capabilities.includes(name);
  const use: ModelUse = has('completion') ? 'chat' : has('embedding') ? 'embedding' : 'other';
  return { use, vision: has('vision'), tools: has('tools') };
}

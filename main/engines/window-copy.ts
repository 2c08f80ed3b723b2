import type { FetchEdges } from '../platform/http/fetch-body.ts';
import { memberOf, parseJson, textOf } from '../platform/json.ts';
import { type EngineAddress, fetchFrom } from './adapters/probe.ts';

/*
 * A copy of an Ollama model that is loaded with another window. It shares the weights of the model
 * (docs.ollama.com/api/create: `from` and `parameters`, since ollama/ollama#8388).
 */

/** `qwen3:8b` with 65,536 tokens is `qwen3:8b-64k`. */
export const copyName = (model: string, tokens: number): string =>
  `${model}-${Math.floor(tokens / 1024)}k`;

/** The model that a copy was made of, by its name; null if that is of no copy. */
export function copiedFrom(
  copy: string,
): { readonly model: string; readonly tokens: number } | null {
  const [, model, k] = /^([^:]+:.+)-(\d+)k$/.exec(copy) ?? [];
  return model === undefined ? null : { model, tokens: 1024 * Number(k) };
}

/** It writes a small file. */
const LIMITS = { timeoutMs: 30_000, maxBytes: 64 * 1024 };

/** Null once it is there; otherwise why not, in words. */
export const makeCopy = (
  engine: EngineAddress,
  { model, tokens }: { readonly model: string; readonly tokens: number },
  edges: FetchEdges,
): Promise<string | null> => {
  const parameters = { num_ctx: tokens };
  const json = { model: copyName(model, tokens), from: model, parameters, stream: false };
  return tell(engine, { path: '/api/create', json }, edges);
};

/** Null once it is gone. The model that it was made of keeps the weights. */
export const deleteCopy = (
  engine: EngineAddress,
  copy: string,
  edges: FetchEdges,
): Promise<string | null> =>
  tell(engine, { path: '/api/delete', json: { model: copy }, method: 'DELETE' }, edges);

async function tell(
  engine: EngineAddress,
  order: { readonly path: string; readonly json: object; readonly method?: 'DELETE' },
  edges: FetchEdges,
): Promise<string | null> {
  const result = await fetchFrom(engine, { ...order, ...LIMITS }, edges);
  if (result.kind !== 'response') return result.detail;
  const isGone = order.method === 'DELETE' && result.status === 404;
  if (result.status < 400 || isGone) return null;
  const said = textOf(memberOf(parseJson(result.body.toString('utf8')), 'error'));
  return said?.slice(0, 200) ?? `HTTP ${result.status}`;
}

import type { EngineKind } from '#shared/engines.ts';
import { LARGE_WINDOW } from '#shared/models.ts';
import type { FetchResult } from '../platform/http/fetch-body.ts';
import { detail, type Engine, MODELS_PATH } from './adapters/adapter.ts';
import { dockerModelRunner } from './adapters/docker.ts';
import type { EngineDetail } from './adapters/engine-view.ts';
import { jan } from './adapters/jan.ts';
import { koboldCpp } from './adapters/koboldcpp.ts';
import { llamaCpp } from './adapters/llama-cpp.ts';
import { llamaSwap } from './adapters/llama-swap.ts';
import { lmStudio } from './adapters/lm-studio.ts';
import { mlx } from './adapters/mlx.ts';
import { ollama } from './adapters/ollama.ts';
import {
  type Ask,
  type AskEdges,
  createAsk,
  type EngineAddress,
  modelList,
} from './adapters/probe.ts';
import { sglang } from './adapters/sglang.ts';
import { tgi } from './adapters/tgi.ts';
import { vllm } from './adapters/vllm.ts';

/** All known engines; those that no other imitates come first. */
const ENGINES: readonly Engine[] = [
  vllm,
  sglang,
  koboldCpp,
  ollama,
  lmStudio,
  dockerModelRunner,
  llamaSwap,
  llamaCpp,
  tgi,
  jan,
  mlx,
];

export interface DetectedEngine {
  readonly kind: EngineKind;
  readonly apiPath: string;
  readonly detail: EngineDetail;
}

export type EngineLook =
  | { readonly kind: 'found'; readonly found: DetectedEngine }
  /** Something answers that is not a known engine. */
  | { readonly kind: 'stranger'; readonly detail: EngineDetail }
  | { readonly kind: 'silent'; readonly isLate: boolean };

/** `not_asked`: this process had no file descriptor left, which says nothing about the engine. */
export type LookResult = EngineLook | { readonly kind: 'not_asked' };

/** A pinned address may be any server that lists models as OpenAI does. */
export async function lookAt(
  address: EngineAddress,
  isPinned: boolean,
  edges: AskEdges,
): Promise<LookResult> {
  const { ask, isExhausted } = createAsk(address, edges);
  const seen = await lookWith(ask, address, isPinned);
  return isExhausted() ? { kind: 'not_asked' } : seen;
}

/**
 * What a fixed address tells apart from its `list` of models: it is asked as the engine that it `was`, or, if that is
 * unknown, as each that it may be. Null if it is no known engine, or did not answer.
 */
export async function readEngine(
  address: EngineAddress,
  { was, list }: { readonly was: EngineKind | null; readonly list: FetchResult },
  edges: AskEdges,
): Promise<DetectedEngine | null> {
  // It has answered its list, which says enough of its health.
  const known = [MODELS_PATH, '/health'].map((path) => [path, list] as const);
  const { ask } = createAsk(address, edges, known);
  const same = ENGINES.find(({ kind }) => kind === was);
  const engine = same ?? (await engineAt(ask, likely(address, true)));
  return engine === null ? null : readAs(engine, ask);
}

async function readAs(engine: Engine, ask: Ask): Promise<DetectedEngine> {
  const { kind, apiPath = '' } = engine;
  return { kind, apiPath, detail: await engine.read(ask) };
}

async function lookWith(ask: Ask, address: EngineAddress, isPinned: boolean): Promise<EngineLook> {
  const list = await ask(MODELS_PATH);
  if (list.status === 0 && (list.isLate || (await ask('/')).status === 0)) {
    return { kind: 'silent', isLate: list.isLate };
  }
  const engine = await engineAt(ask, likely(address, isPinned || list.json !== null));
  if (engine !== null) return { kind: 'found', found: await readAs(engine, ask) };
  const models = modelList(list);
  const said = detail(list, { location: models?.[0]?.root ?? null });
  if (!isPinned || models === null) return { kind: 'stranger', detail: said };
  return { kind: 'found', found: { kind: 'other', apiPath: '', detail: said } };
}

/** A server that does not answer with JSON is tested only for the engines of its port. */
function likely({ origin }: EngineAddress, isAny: boolean): readonly Engine[] {
  const port = Number(new URL(origin).port);
  const ofPort = ENGINES.filter(({ ports }) => ports.includes(port));
  return isAny ? [...ofPort, ...ENGINES.filter((engine) => !ofPort.includes(engine))] : ofPort;
}

/** Whether an engine answers other requests while it computes; one that is not known may not. */
export const answersWhileBusy = (kind: EngineKind): boolean =>
  ENGINES.find((engine) => engine.kind === kind)?.answersWhileBusy ?? false;

/** How its owner gives an engine a larger window for a model that takes `most` tokens; null of one that is not known. */
export const largerWindowOf = (kind: EngineKind, most = LARGE_WINDOW): string | null =>
  ENGINES.find((engine) => engine.kind === kind)?.largerWindow(Math.min(LARGE_WINDOW, most)) ??
  null;

async function engineAt(ask: Ask, engines: readonly Engine[]): Promise<Engine | null> {
  for (const engine of engines) if (await engine.isAt(ask)) return engine;
  return null;
}

export const ENGINE_PORTS: readonly number[] = [...new Set(ENGINES.flatMap(({ ports }) => ports))];

import { userinfoOf } from '../../platform/userinfo.ts';
import { detail, type Engine, MODELS_PATH } from './adapters/adapter.ts';
import { dockerModelRunner } from './adapters/docker.ts';
import type { EngineDetail, EngineKind } from './adapters/engine-view.ts';
import { jan } from './adapters/jan.ts';
import { koboldCpp } from './adapters/koboldcpp.ts';
import { llamaCpp } from './adapters/llama-cpp.ts';
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
  llamaCpp,
  tgi,
  jan,
  mlx,
];

export interface Found {
  readonly kind: EngineKind;
  readonly apiPath: string;
  readonly detail: EngineDetail;
}

export type EngineLook =
  | { readonly kind: 'found'; readonly found: Found }
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

async function lookWith(ask: Ask, address: EngineAddress, isPinned: boolean): Promise<EngineLook> {
  const list = await ask(MODELS_PATH);
  if (list.status === 0 && (list.isLate || (await ask('/')).status === 0)) {
    return { kind: 'silent', isLate: list.isLate };
  }
  const engine = await engineAt(ask, likely(address, isPinned || list.json !== null));
  if (engine !== null) {
    const { kind, apiPath } = engine;
    return { kind: 'found', found: { kind, apiPath, detail: await engine.read(ask) } };
  }
  const models = modelList(list);
  const said = detail(list, models, { location: models?.[0]?.root ?? null });
  if (!isPinned || models === null) return { kind: 'stranger', detail: said };
  return { kind: 'found', found: { kind: 'other', apiPath: '', detail: said } };
}

/** A server that does not answer with JSON is tested only for the engines of its port. */
function likely({ origin }: EngineAddress, isAny: boolean): readonly Engine[] {
  const port = Number(new URL(origin).port);
  const ofPort = ENGINES.filter(({ ports }) => ports.includes(port));
  return isAny ? [...ofPort, ...ENGINES.filter((engine) => !ofPort.includes(engine))] : ofPort;
}

async function engineAt(ask: Ask, engines: readonly Engine[]): Promise<Engine | null> {
  for (const engine of engines) if (await engine.isAt(ask)) return engine;
  return null;
}

/** The engines' default ports. */
export const ENGINE_PORTS: readonly number[] = [...new Set(ENGINES.flatMap(({ ports }) => ports))];

/** Both loopback addresses: a server on `localhost` may have bound only one of them. */
const LOOPBACK_HOSTS = ['127.0.0.1', '[::1]'];

/**
 * For each port, the addresses at which an engine of this machine may listen. Our own ports are left out, because this
 * program answers like an engine.
 */
export function localAddresses(
  ports: readonly number[],
  ownPorts: readonly number[],
): readonly (readonly EngineAddress[])[] {
  return ports
    .filter((port) => !ownPorts.includes(port))
    .map((port) =>
      LOOPBACK_HOSTS.map((host) => ({
        origin: `http://${host}:${port}`,
        basePath: '',
        authorization: null,
      })),
    );
}

/** An engine address that the owner has set. */
type PinnedAddress =
  | { readonly kind: 'address'; readonly address: EngineAddress }
  /** `message` names the mistake and the fix; it never repeats the URL, which may contain a key. */
  | { readonly kind: 'invalid'; readonly message: string };

const EXAMPLE = 'Write it like http://127.0.0.1:8000.';

/** Parses an engine's URL, with or without `/v1` at its end; `apiKey` is sent as a bearer token. */
export function pinnedAddress(url: string, apiKey: string | null): PinnedAddress {
  if (!URL.canParse(url)) return invalid('The engine URL is not a URL.');
  const parsed = new URL(url);
  const { protocol, origin, pathname, search, hash } = parsed;
  if (protocol !== 'http:' && protocol !== 'https:') {
    return invalid('The engine URL must begin with http:// or https://.');
  }
  if (search !== '' || hash !== '')
    return invalid('The engine URL may have no query and no fragment.');
  const userinfo = userinfoOf(parsed);
  if (userinfo.kind === 'undecodable') {
    return invalid('A "%" in the user name or password of the engine URL: write it as %25.');
  }
  const basePath = pathname.replace(/\/+$/, '').replace(/\/v1$/, '');
  const basic = userinfo.kind === 'credentials' ? userinfo.authorization : null;
  const authorization = apiKey === null ? basic : `Bearer ${apiKey}`;
  return { kind: 'address', address: { origin, basePath, authorization } };
}

function invalid(message: string): PinnedAddress {
  return { kind: 'invalid', message: `${message} ${EXAMPLE}` };
}

/** Where the agent searches for its engine. */
export interface EnginePlace {
  /** Set by the owner; then no other is searched for. */
  readonly pinned: EngineAddress | null;
  /** Ports to search if no engine is set. */
  readonly ports: readonly number[];
  /** Why the address in the settings cannot be used, and the fix; null if it can. */
  readonly fault: string | null;
}

/** The owner's settings of the engine; without a `url`, the default ports are searched. */
export interface EngineSettings {
  readonly url: string | null;
  /** Sent only to `url`: any program may listen on a port that was found by searching. */
  readonly apiKey: string | null;
}

export function enginePlace({ url, apiKey }: EngineSettings, ports = ENGINE_PORTS): EnginePlace {
  if (url === null) return { pinned: null, ports, fault: null };
  const read = pinnedAddress(url, apiKey);
  if (read.kind === 'address') return { pinned: read.address, ports, fault: null };
  // A wrong address must not make the agent serve another engine.
  return { pinned: null, ports: [], fault: read.message };
}

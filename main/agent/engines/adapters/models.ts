import { listOf, memberOf, textOf } from '../../../platform/json.ts';
import { type EngineAnswer, isOk } from './probe.ts';

/** One entry of an OpenAI model list, with what engines add to it. */
export interface EngineModel {
  readonly id: string;
  readonly ownedBy: string;
  /** vLLM: the model's hub id or path. */
  readonly root: string | null;
  readonly entry: unknown;
}

/** Limits of the registry for one machine. */
const MAX_MODELS = 512;
const MAX_ID_CHARS = 1024;

/** Null if the answer is not a model list. */
export function modelList(answer: EngineAnswer): readonly EngineModel[] | null {
  if (!isOk(answer)) return null;
  const data = memberOf(answer.json, 'data');
  if (!Array.isArray(data)) return null;
  return listOf(data)
    .slice(0, MAX_MODELS)
    .flatMap((entry) => {
      const id = textOf(memberOf(entry, 'id'));
      if (id === null || id.length > MAX_ID_CHARS) return [];
      const ownedBy = textOf(memberOf(entry, 'owned_by')) ?? '';
      return [{ id, ownedBy, root: textOf(memberOf(entry, 'root')), entry }];
    });
}

/** Ids of a list in an engine's own format, each under the path `key`. */
export function idsIn(list: unknown, ...key: readonly string[]): readonly string[] {
  return listOf(list)
    .slice(0, MAX_MODELS)
    .map((entry) => textOf(memberOf(entry, ...key)))
    .filter((id) => id !== null)
    .filter((id) => id.length <= MAX_ID_CHARS);
}

export function idsOf(models: readonly EngineModel[] | null): readonly string[] {
  return (models ?? []).map(({ id }) => id);
}

const HUB_ID = /^[\w.-]+\/[\w.-]+(:[\w.-]+)?$/;
const HUB_CACHE = /(?:^|[/\\])models--([\w.-]+?)--([\w.-]+)(?:[/\\]|$)/;

/**
 * The part of a model's location that may be shown. Paths reveal something about a machine and its owner, so only the
 * last part of a path is kept, or the hub id if the path is in the hub's cache.
 */
export function shownLocation(location: string, arePathsAllowed: boolean): string | null {
  const [, owner, name] = HUB_CACHE.exec(location) ?? [];
  if (owner !== undefined && name !== undefined) return `${owner}/${name}`;
  if (arePathsAllowed) return location;
  const isFile = /\.(gguf|safetensors|bin|llamafile)$/i.test(location);
  if (HUB_ID.test(location) && !isFile && !/^\.{1,2}\//.test(location)) return location;
  const parts = location.split(/[/\\]/).filter((part) => part !== '');
  return parts.at(-1) ?? null;
}

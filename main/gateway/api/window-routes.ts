import { deleteCopy, makeCopy } from '../../engines/window-copy.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../platform/clock.ts';
import type { HttpClient } from '../../platform/http/types.ts';
import { answered, route, type Route, textAt } from '../../platform/http/routes.ts';
import { notFound, refused } from '../http/errors.ts';
import type { Memory } from '../memory/memory.ts';
import {
  copiesIn,
  copyFor,
  type EngineAt,
  ollamaWith,
  withCopy,
  withoutCopy,
} from '../routing/windows.ts';
import type { LocalChoice } from '../upstream/upstreams.ts';
import { type SettingsApi, unpatched } from './control-routes.ts';

interface WindowDeps {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly memory: Memory;
  readonly config: () => Config;
  readonly settings: SettingsApi;
  readonly pickLocal: () => LocalChoice;
  readonly engineAt: EngineAt;
  /** Reads the models of the own engines now. */
  readonly enginesChanged: () => Promise<void>;
}

/** Makes a copy of a model with a larger window, and an alias to it; takes both away again. */
export function windowRoutes(deps: WindowDeps): readonly Route[] {
  const { settings, pickLocal, engineAt, memory } = deps;
  const pairs = () => deps.config().routing.modelAliases;
  const treeOf = (modelAliases: readonly string[]) => ({ routing: { modelAliases } });
  return [
    route('POST', '/api/v1/windows', 'control', async ({ json }) => {
      const model = textAt(json, 'model') ?? '';
      const plan = copyFor(model, pickLocal(), { memory, engineAt, pairs: pairs() });
      if (plan === null)
        return refused({
          status: 409,
          code: 'not_configured',
          message: `No prompt was too long for "${model.slice(0, 100)}", or no larger copy of it can be made.`,
        });
      const { engine, made, tokens } = plan;
      const problem = settings.check(treeOf(withCopy(pairs(), made)));
      if (problem !== null) return unpatched(problem);
      const failure = await makeCopy(engine.address, { model, tokens }, deps);
      if (failure !== null) return refusedBy(failure);
      await deps.enginesChanged();
      const patched = settings.patch(treeOf(withCopy(pairs(), made)));
      return patched.kind === 'patched' ? answered(made) : unpatched(patched);
    }),
    route('POST', '/api/v1/windows/undo', 'control', async ({ json }) => {
      const copy = textAt(json, 'copy') ?? '';
      // Nothing else is deleted.
      const made = copiesIn(pairs()).find((each) => each.copy === copy);
      if (made === undefined) return notFound(`No alias leads to a copy "${copy.slice(0, 100)}".`);
      const engine = ollamaWith(copy, pickLocal(), engineAt);
      const patched = settings.patch(treeOf(withoutCopy(pairs(), made)));
      if (patched.kind !== 'patched') return unpatched(patched);
      const failure = engine === null ? null : await deleteCopy(engine.address, copy, deps);
      await deps.enginesChanged();
      return failure === null ? answered(made) : refusedBy(failure);
    }),
  ];
}

const refusedBy = (failure: string) =>
  refused({ status: 502, code: 'upstream_error', message: `Ollama refused: ${failure}` });

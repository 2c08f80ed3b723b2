import { isUpstreamId, UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { UpstreamTest } from '#shared/live.ts';
import type { Config } from '../../config/schema.ts';
import { httpUrl } from '../../config/setting-types.ts';
import type { Clock } from '../../platform/clock.ts';
import type { HttpClient } from '../../platform/http/types.ts';
import { answered, route, type Route, textAt } from '../../platform/http/routes.ts';
import { type GatewayError, invalidParam, notFound, refused } from '../http/errors.ts';
import { noteTest } from '../circuits/seen.ts';
import type { Memory } from '../memory/memory.ts';
import type { Monitor } from '../monitoring/monitor.ts';
import { localCall, remoteCall } from '../upstream/call.ts';
import { refusalToSpend } from './control-routes.ts';
import { fetchModels } from '../upstream/model-catalogue.ts';
import type { Source } from '../upstream/own-requests.ts';
import { type TestOutcome, testUpstream } from '../upstream/upstream-test.ts';
import {
  type LocalChoice,
  type LocalTarget,
  modelAt,
  parseBaseAddress,
  type RemoteUpstream,
  targetsOf,
} from '../upstream/upstreams.ts';

interface UpstreamDeps extends Pick<Monitor, 'circuits' | 'feed'> {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly config: () => Config;
  readonly pickLocal: () => LocalChoice;
  readonly identifyLocal: (failedAt: number | null) => Promise<void> | null;
  readonly remotes: () => readonly RemoteUpstream[];
  readonly memory: Memory;
}

/**
 * Routes that call one upstream on behalf of its owner. These calls do not count as requests, and a failure opens no
 * circuit; one that would exclude the upstream after a request does so here too. An answered completion closes the
 * circuit, as that of a probe does, and ends what excludes the upstream.
 */
export function upstreamRoutes(deps: UpstreamDeps): readonly Route[] {
  const running = new Map<string, Promise<TestOutcome>>();

  /** A second click waits for the result of the first, unless the address, key or model has changed in between. */
  function outcomeOf(id: UpstreamId, run: () => Promise<TestOutcome>): Promise<TestOutcome> {
    const key = `${id} ${deps.circuits.at(id).epoch}`;
    const outcome = running.get(key) ?? tested(id, run).finally(() => running.delete(key));
    running.set(key, outcome);
    return outcome;
  }

  async function tested(id: UpstreamId, run: () => Promise<TestOutcome>): Promise<TestOutcome> {
    const epoch = deps.circuits.epoch();
    const outcome = await run();
    // The id may stand for another address, key or model by now.
    if (epoch < deps.circuits.at(id).epoch) return outcome;
    const { result, isCompletion, failure, provider, model } = outcome;
    if (result.ok && isCompletion) {
      deps.circuits.reset(id);
      if (provider !== null) deps.circuits.reset(provider);
    }
    if (failure !== null && failure.fallBack !== 'never')
      deps.circuits.excludeAfter(provider ?? id, failure, { model, epoch });
    const reason = result.ok ? null : (failure?.reason ?? result.reason);
    const test = { at: deps.clock.now(), failure: reason, isTest: isCompletion };
    noteTest(deps.memory.of(provider ?? id), test);
    deps.feed.changed();
    return outcome;
  }

  return [
    route('POST', '/api/v1/upstreams/:id/test', 'control', async ({ params: { id = '' } }) => {
      if (!isUpstreamId(id)) return noUpstream(id);
      const start = testOf(id, deps);
      if ('status' in start) return refused(start);
      return answered((await outcomeOf(id, start.run)).result);
    }),
    route('POST', '/api/v1/upstreams/:id/models', 'control', async ({ params, json }) => {
      const { id = '' } = params;
      if (!isUpstreamId(id)) return noUpstream(id);
      const source = sourceIn(json, id, deps);
      if ('status' in source) return refused(source);
      const list = await fetchModels(source, deps);
      return list.kind === 'models' ? answered({ models: list.models }) : refused(list.error);
    }),
  ];
}

const noUpstream = (id: string) =>
  notFound(`There is no upstream "${id.slice(0, 100)}"; use one of ${UPSTREAM_IDS.join(', ')}.`);

type Start = { readonly run: () => Promise<TestOutcome> } | GatewayError;

function testOf(id: UpstreamId, deps: UpstreamDeps): Start {
  const config = deps.config();
  if (id === 'local') {
    const [target] = targetsOf(deps.pickLocal());
    if (target === undefined)
      return notConfigured('Your GPUs have no engine and no tested machine.');
    return { run: () => localTest(target, config, deps) };
  }
  const upstream = deps.remotes().find((remote) => remote.id === id);
  if (upstream === undefined) return notConfigured(`'${id}.baseUrl' is not set.`);
  const unpaid = refusalToSpend(upstream, config);
  if (unpaid !== null) return unpaid;
  if (upstream.model === null) return { run: () => listTest(upstream, deps) };
  return { run: () => testUpstream((call) => remoteCall(call, upstream, null), deps) };
}

const notConfigured = (message: string): GatewayError => ({
  status: 409,
  code: 'not_configured',
  message,
});

/** An address that was saved just now has no models yet, and some engines refuse a request that names none. */
async function localTest(
  before: LocalTarget,
  config: Config,
  deps: UpstreamDeps,
): Promise<TestOutcome> {
  await deps.identifyLocal(null);
  const [target = before] = targetsOf(deps.pickLocal());
  const unread = { prefix: null, tokensPerSecond: null };
  return testUpstream((form) => {
    const local = { target, form, ...modelAt(target, form.request) };
    return localCall(local, config, unread);
  }, deps);
}

/** Without a configured model, no completion can be requested. */
async function listTest(upstream: RemoteUpstream, deps: UpstreamDeps): Promise<TestOutcome> {
  const startedAt = deps.clock.ticks();
  const list = await fetchModels(upstream, deps);
  const totalMs = Math.round(deps.clock.ticks() - startedAt);
  const unknown = { provider: null, ttftMs: null, promptTokens: null, completionTokens: null };
  const result: UpstreamTest =
    list.kind === 'failed'
      ? { ok: false, reason: list.reason, message: list.error.message, totalMs }
      : { ok: true, model: null, totalMs, ...unknown };
  return { result, isCompletion: false, failure: null, provider: null, model: '' };
}

/** An address that is not saved yet, with its key, or else those from the settings. */
function sourceIn(json: unknown, id: UpstreamId, deps: UpstreamDeps): Source | GatewayError {
  const [baseUrl, apiKey] = [textAt(json, 'baseUrl'), textAt(json, 'apiKey') || null];
  const saved = { apiKey: null, headers: {}, ...deps.config()[id] };
  if (baseUrl !== null && baseUrl !== saved.baseUrl) {
    if (!httpUrl.schema.safeParse(baseUrl).success)
      return invalidParam('baseUrl', 'must be an http:// or https:// address');
    // A saved key goes to the saved address only.
    return { baseAddress: parseBaseAddress(baseUrl, id), apiKey, headers: {} };
  }
  if (saved.baseUrl === null) return notConfigured(`'${id}.baseUrl' is not set.`);
  const baseAddress = parseBaseAddress(saved.baseUrl, id);
  return { baseAddress, apiKey: apiKey ?? saved.apiKey, headers: saved.headers };
}

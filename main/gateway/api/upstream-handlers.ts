import type { Request, Response } from 'express';
import { isUpstreamId, UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { UpstreamTest } from '#shared/live.ts';
import type { Config } from '../../config/schema.ts';
import { httpUrl } from '../../config/setting-types.ts';
import type { Clock } from '../../platform/clock.ts';
import type { HttpClient } from '../../platform/http/types.ts';
import { sendJson } from '../../platform/http/responses.ts';
import { type GatewayError, invalidParam } from '../http/errors.ts';
import { sendError } from '../http/responses.ts';
import type { Circuits } from '../circuits/circuits.ts';
import type { SightingsMonitor } from '../monitoring/sightings.ts';
import type { Adjustments } from '../upstream/adjustments.ts';
import { type LocalChoice, localCall, remoteCall, targetsOf } from '../upstream/call.ts';
import { fetchModels, type ModelSource } from '../upstream/model-catalogue.ts';
import { type TestOutcome, testUpstream } from '../upstream/upstream-test.ts';
import { parseBaseAddress, type RemoteUpstream } from '../upstream/upstreams.ts';

interface UpstreamDeps {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly config: () => Config;
  readonly pickLocal: () => LocalChoice;
  readonly remotes: () => readonly RemoteUpstream[];
  readonly sightings: Pick<SightingsMonitor, 'tested'>;
  readonly circuits: Pick<Circuits, 'at' | 'epoch' | 'excludeAfter' | 'reset'>;
  readonly adjustments: Adjustments;
}

interface RunningTest {
  /** Of the circuits, when it began. */
  readonly epoch: number;
  readonly outcome: Promise<TestOutcome>;
}

/**
 * Routes that call one upstream on behalf of its owner. These calls do not count as requests, and a failure opens no
 * circuit; one that would exclude the upstream after a request does so here too. An answered completion closes the
 * circuit, as that of a probe does, and ends what excludes the upstream.
 */
export function upstreamHandlers(deps: UpstreamDeps) {
  const running = new Map<UpstreamId, RunningTest>();
  /** False once the id may stand for another address, key or model. */
  const isCurrent = (id: UpstreamId, epoch: number) => epoch >= deps.circuits.at(id).epoch;

  /** A second click waits for the result of the first. */
  function outcomeOf(id: UpstreamId, run: () => Promise<TestOutcome>): Promise<TestOutcome> {
    const before = running.get(id);
    if (before !== undefined && isCurrent(id, before.epoch)) return before.outcome;
    const epoch = deps.circuits.epoch();
    const outcome = tested(id, epoch, run).finally(() => {
      if (running.get(id) === test) running.delete(id);
    });
    const test = { epoch, outcome };
    running.set(id, test);
    return outcome;
  }

  async function tested(
    id: UpstreamId,
    epoch: number,
    run: () => Promise<TestOutcome>,
  ): Promise<TestOutcome> {
    const outcome = await run();
    if (!isCurrent(id, epoch)) return outcome;
    const { result, isCompletion, failure, provider, model } = outcome;
    if (result.ok && isCompletion) {
      deps.circuits.reset(id);
      if (provider !== null) deps.circuits.reset(provider);
    }
    if (failure !== null && failure.fallBack !== 'never')
      deps.circuits.excludeAfter(provider ?? id, failure, { model, epoch });
    const reason = result.ok ? null : (failure?.reason ?? result.reason);
    deps.sightings.tested(provider ?? id, { isCompletion, failure: reason });
    return outcome;
  }

  return {
    test: async (req: Request, res: Response) => {
      const id = upstreamIn(req, res);
      if (id === null) return;
      const start = testOf(id, deps);
      if ('status' in start) {
        sendError(res, start);
        return;
      }
      const { result } = await outcomeOf(id, start.run);
      sendJson(res, 200, result);
    },
    models: async (req: Request, res: Response) => {
      const id = upstreamIn(req, res);
      const source = id === null ? null : sourceIn(req, id, deps);
      if (source === null) return;
      if ('status' in source) {
        sendError(res, source);
        return;
      }
      const list = await fetchModels(source, deps);
      if (list.kind === 'models') sendJson(res, 200, { models: list.models });
      else sendError(res, list.error);
    },
  };
}

function upstreamIn(req: Request, res: Response): UpstreamId | null {
  const id = String(req.params['id']);
  if (isUpstreamId(id)) return id;
  const message = `There is no upstream "${id.slice(0, 100)}"; use one of ${UPSTREAM_IDS.join(', ')}.`;
  sendError(res, { status: 404, code: 'not_found', message });
  return null;
}

type Start = { readonly run: () => Promise<TestOutcome> } | GatewayError;

function testOf(id: UpstreamId, deps: UpstreamDeps): Start {
  const config = deps.config();
  if (id === 'local') {
    const [target] = targetsOf(deps.pickLocal());
    if (target === undefined) return notConfigured('Local has no engine and no verified machine.');
    return { run: () => testUpstream((call) => localCall(call, target, config, 1), deps) };
  }
  const upstream = deps.remotes().find((remote) => remote.id === id);
  if (upstream === undefined) return notConfigured(`'${id}.baseUrl' is not set.`);
  if (config.routing.forceZero) {
    const message =
      'Local only is on, and a test may cost money; switch it off first (routing.forceZero).';
    return { status: 409, code: 'zero_spend', message };
  }
  if (upstream.model === null) return { run: () => listTest(upstream, deps) };
  return { run: () => testUpstream((call) => remoteCall(call, upstream), deps) };
}

const notConfigured = (message: string): GatewayError => ({
  status: 409,
  code: 'not_configured',
  message,
});

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
function sourceIn(req: Request, id: UpstreamId, deps: UpstreamDeps): ModelSource | GatewayError {
  const body = (req.body ?? {}) as Readonly<Record<string, unknown>>;
  const { baseUrl, apiKey } = body;
  const saved = { apiKey: null, headers: {}, ...deps.config()[id] };
  if (typeof baseUrl === 'string' && baseUrl !== saved.baseUrl) {
    if (!httpUrl.schema.safeParse(baseUrl).success)
      return invalidParam('baseUrl', 'must be an http:// or https:// address');
    // A saved key goes to the saved address only.
    const key = typeof apiKey === 'string' && apiKey !== '' ? apiKey : null;
    return { id, baseAddress: parseBaseAddress(baseUrl, id), apiKey: key, headers: {} };
  }
  if (saved.baseUrl === null) return notConfigured(`'${id}.baseUrl' is not set.`);
  const key = typeof apiKey === 'string' && apiKey !== '' ? apiKey : saved.apiKey;
  const baseAddress = parseBaseAddress(saved.baseUrl, id);
  return { id, baseAddress, apiKey: key, headers: saved.headers };
}

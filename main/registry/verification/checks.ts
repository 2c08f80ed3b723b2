import { CHECKS } from '#shared/checks.ts';
import { withTimeout } from '../../platform/async.ts';
import type { Clock } from '../../platform/clock.ts';
import { urlHost } from '../../platform/http/addresses.ts';
import { fetchBody, type FetchResult } from '../../platform/http/fetch-body.ts';
import type { HttpClient } from '../../platform/http/types.ts';
import {
  type AddressPolicy,
  canonicalIp,
  type CheckedUrl,
  isLoopback,
  type Lookup,
  portOf,
  resolveChecked,
} from '../../platform/network-guard.ts';
import type { VerificationSubject } from '../verifier-host.ts';
import { type AddressCandidate, candidatesOf } from './candidates.ts';
import {
  completed,
  failure,
  type Finding,
  findingOf,
  judgeEngine,
  judgeHealth,
  judgeInference,
  type CheckJudgement,
  judgeModels,
  MISSING,
  NOT_ASKED,
  PASSED,
  type ProvedAddress,
  rankOf,
  SPARED,
} from './judgements.ts';

/** The addresses at which a provider may be reached. */
export interface AddressRules {
  /** The agents' ports. */
  readonly ports: readonly number[];
  /** The one that is used with host names and addresses. */
  readonly hostPort: number;
  /** Loopback ports of this process's own agent. */
  readonly ownPorts: () => readonly number[];
}

export interface RunEdges {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly lookup: Lookup;
  /** A fresh random number of at least 128 bits, in hex. */
  readonly newNonce: () => string;
  readonly rules: AddressRules;
}

/**
 * Whether to run a test inference. `carry` keeps the last result if it passed; `if_loaded` does so if the machine
 * reports that no model is loaded; `spare` runs none, because the last one was run very recently.
 */
export type InferencePlan = 'run' | 'if_loaded' | 'carry' | 'spare';

export interface RunRequest {
  readonly subject: VerificationSubject;
  readonly inference: InferencePlan;
  /** Ends the run without a result. */
  readonly signal: AbortSignal;
}

/** Limit for a whole run. */
const RUN_TIMEOUT_MS = 60_000;

/** Runs all checks of a provider (docs/contributing/agent-protocol.md); null if it was aborted. */
export async function runChecks(
  request: RunRequest,
  edges: RunEdges,
): Promise<readonly Finding[] | null> {
  const { subject, inference } = request;
  const { http, clock, lookup, newNonce, rules } = edges;
  if (request.signal.aborted) return null;
  const timeout = new AbortController();
  const cancelTimeout = clock.after(RUN_TIMEOUT_MS, () => timeout.abort());
  const signal = AbortSignal.any([request.signal, timeout.signal]);
  try {
    const { engine_health: engineHealth, gpu } = subject.record;
    const findings = [
      ...(await overNetwork({ subject, inference, signal, http, clock, lookup, newNonce, rules })),
      findingOf(CHECKS.engineHealth, judgeEngine(engineHealth)),
      findingOf(CHECKS.gpuCount, gpu.count > 0 ? PASSED : failure('no GPU reported')),
    ];
    return request.signal.aborted ? null : completed(findings);
  } finally {
    cancelTimeout();
  }
}

/** The checks that send requests to the machine. */
async function overNetwork(run: Run): Promise<readonly Finding[]> {
  const { subject, inference, rules, signal } = run;
  const candidates = candidatesOf(subject, rules.hostPort);
  if (candidates.length === 0) return [NO_CANDIDATE];
  const probes = await Promise.all(candidates.map((candidate) => probeHealth(candidate, run)));
  const findings = probes.map(({ finding }) => finding);
  const proved = probes
    .flatMap((probe) => probe.proved ?? [])
    .toSorted((a, b) => rankOf(a.reached) - rankOf(b.reached));
  const isUnloaded = inference === 'if_loaded' && proved.some((each) => each.isUnloaded);
  const mayKeep = inference === 'carry' || isUnloaded;
  const kept = mayKeep ? proved.flatMap((each) => carried(subject, each)) : [];
  findings.push(...kept);
  const { current_model: model } = subject.record;
  if (model === null) return proved.length === 0 ? findings : [...findings, NO_MODEL];
  // One after another, because the latency of a GPU that answers four at once says nothing.
  for (const each of proved) {
    if (kept.length === 0 && !signal.aborted)
      findings.push(...(inference === 'spare' ? SPARED : await probeInference(each, model, run)));
    if (!signal.aborted) findings.push(await probeModels(each, model, run));
  }
  return findings;
}

/** The last test inference at an address, if it passed in time. */
function carried(
  { verification }: VerificationSubject,
  { to, reached }: ProvedCandidate,
): readonly Finding[] {
  const detail = inferenceDetail(to);
  const findings = [CHECKS.inference, CHECKS.latency].flatMap((name): readonly Finding[] => {
    const check = verification.checks.find(
      (one) => one.name === name && one.detail === detail && one.passed,
    );
    if (check === undefined) return [];
    return [{ check: { ...check, name }, result: 'carried', reached }];
  });
  return findings.length === 2 ? findings : [];
}

/** Shared by the requests of one run; its signal aborts at the time limit, too. */
type Run = RunRequest & RunEdges;

/** A candidate that proved to be the provider, and the resolved address to use from then on. */
interface ProvedCandidate {
  readonly to: CheckedUrl;
  readonly reached: ProvedAddress;
  /** No model is loaded: a test inference would load one unasked. */
  readonly isUnloaded: boolean;
}

interface HealthProbe {
  readonly finding: Finding;
  /** Null unless the check passed. */
  readonly proved: ProvedCandidate | null;
}

const CHAT_PATH = '/v1/chat/completions';
const MODELS_PATH = '/v1/models';
const GET_TIMEOUT_MS = 5000;
const INFERENCE_TIMEOUT_MS = 10_000;
/** Larger than any health report or model list. */
const MAX_BODY_BYTES = 64 * 1024;

/**
 * Checks that a candidate is the provider and healthy, before the token is sent to it; its name is resolved only here.
 */
async function probeHealth(candidate: AddressCandidate, run: Run): Promise<HealthProbe> {
  const { subject, clock, rules, signal } = run;
  const { origin, source } = candidate;
  const detail = origin === null ? source : `GET ${origin}/health`;
  const judged = (judgement: CheckJudgement): HealthProbe => ({
    finding: findingOf(CHECKS.health, judgement, { detail }),
    proved: null,
  });
  const refuse = (error: string) => judged(failure(error));
  if (candidate.kind === 'unusable') return refuse(candidate.error);
  const policy: AddressPolicy = {
    loopback: isLoopback(canonicalIp(subject.lastHeartbeatIp) ?? ''),
    ports: rules.ports,
    loopbackPorts: subject.isOwn ? rules.ownPorts() : [],
  };
  const resolving = resolveChecked(new URL(candidate.origin), policy, run.lookup);
  const resolved = await withTimeout(resolving, { clock, ms: GET_TIMEOUT_MS, signal });
  if (resolved.kind !== 'settled')
    return refuse(`the name was not resolved in ${GET_TIMEOUT_MS / 1000} s`);
  if (resolved.value.kind === 'exhausted') return judged(NOT_ASKED);
  if (resolved.value.kind === 'refused') return refuse(resolved.value.error);
  const to = resolved.value.checked;
  const nonce = run.newNonce();
  const { answer, latencyMs } = await ask(run, to, { path: `/health?nonce=${nonce}`, token: null });
  const { isUnloaded = false, ...judgement } = judgeHealth(answer, { ...subject, nonce });
  const reached = { source, latencyMs, address: routingAddress(to) };
  return {
    finding: findingOf(CHECKS.health, judgement, { latencyMs, detail, reached }),
    proved: judgement.result === 'passed' ? { to, reached, isUnloaded } : null,
  };
}

/** For a provider that reported no address. */
const NO_CANDIDATE = findingOf(CHECKS.health, failure('no address is known'));

/** For a machine that serves nothing. */
const NO_MODEL = findingOf(CHECKS.model, failure('the machine reports no current_model'));

/** The target of a test inference, as shown in its entry. */
function inferenceDetail({ url }: CheckedUrl): string {
  return url.origin + CHAT_PATH;
}

/** Runs the test inference and measures its latency. */
async function probeInference(
  { to, reached }: ProvedCandidate,
  model: string,
  run: Run,
): Promise<readonly Finding[]> {
  const { gatewayToken: token } = run.subject;
  // The nonce prevents a cached answer from passing.
  const content = `Say OK. (${run.newNonce().slice(0, 16)})`;
  const messages = [{ role: 'user', content }];
  const json = { model, messages, max_tokens: 16, temperature: 0, stream: false };
  const { answer, latencyMs } = await ask(run, to, { path: CHAT_PATH, token, json });
  const judgement = judgeInference(answer);
  const circumstances = { latencyMs, detail: inferenceDetail(to), reached };
  return [
    findingOf(CHECKS.inference, judgement, circumstances),
    findingOf(CHECKS.latency, judgeLatency(judgement, latencyMs), circumstances),
  ];
}

/** Only a successful answer has a meaningful latency. */
function judgeLatency({ result, error }: CheckJudgement, latencyMs: number): CheckJudgement {
  if (result === 'timeout') return { result, error };
  if (result !== 'passed') return MISSING;
  return latencyMs < INFERENCE_TIMEOUT_MS ? PASSED : failure(`${Math.round(latencyMs)} ms`);
}

/** Checks that a candidate lists the model that the machine reports. */
async function probeModels(
  { to, reached }: ProvedCandidate,
  model: string,
  run: Run,
): Promise<Finding> {
  const { gatewayToken: token } = run.subject;
  const { answer, latencyMs } = await ask(run, to, { path: MODELS_PATH, token });
  const detail = `GET ${to.url.origin}${MODELS_PATH}`;
  return findingOf(CHECKS.model, judgeModels(answer, model), { latencyMs, detail, reached });
}

interface Question {
  readonly path: string;
  /** Null until the address has proved its key, because any program may listen there. */
  readonly token: string | null;
  readonly json?: unknown;
}

/** Sends one request to a checked address and measures its duration; with `json` it is a test inference. */
async function ask(
  { http, clock, signal }: Run,
  { url, address }: CheckedUrl,
  { path, token, json }: Question,
): Promise<{ readonly answer: FetchResult; readonly latencyMs: number }> {
  const credentials = token === null ? [] : ['x-gateway-token', token];
  const startedTicks = clock.ticks();
  const answer = await fetchBody(
    {
      origin: url.origin,
      address,
      path,
      headers: ['accept', 'application/json', ...credentials],
      ...(json === undefined ? {} : { json: Buffer.from(JSON.stringify(json)) }),
      timeoutMs: json === undefined ? GET_TIMEOUT_MS : INFERENCE_TIMEOUT_MS,
      maxBytes: MAX_BODY_BYTES,
    },
    { http, clock, signal },
  );
  return { answer, latencyMs: clock.ticks() - startedTicks };
}

/** Plain HTTP uses the checked address; HTTPS needs the name, which its certificate is valid for. */
function routingAddress({ url, address }: CheckedUrl): string {
  if (url.protocol === 'https:') return url.origin;
  return `http://${urlHost(address)}:${portOf(url)}`;
}

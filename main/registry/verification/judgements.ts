import * as z from 'zod';
import type { AgentRecord, Check } from '#shared/provider.ts';
import { CHECK_MISSING, CHECK_NAMES, CHECKS, type CheckName } from '#shared/checks.ts';
import { verifyHealth } from '../../platform/agent-identity.ts';
import { parseJson } from '../../platform/json.ts';
import type { FetchResult } from '../../platform/http/fetch-body.ts';
import type { VerificationSubject } from '../verifier-host.ts';
import { type CandidateSource, readable } from './candidates.ts';

const healthSchema = z.object({
  status: z.string(),
  id: z.string(),
  signature: z.string(),
  /** Null: the engine has no model loaded. */
  model: z.unknown().optional(),
});
const modelSchema = z.object({ id: z.string(), owned_by: z.string().optional().catch(undefined) });
const modelsSchema = z.object({ data: z.array(modelSchema) });
const completionSchema = z.object({ choices: z.array(z.looseObject({})).min(1) });
const errorSchema = z.object({
  error: z.object({ message: z.string().optional(), code: z.unknown().optional() }),
});

/** Words by which engines report that they are not ready yet (llama.cpp, vLLM, SGLang, TGI). */
const LOADING = /\b(loading|starting|warming)\b/i;

/** Judges the answer to `GET /health?nonce=`, its signature before its content. */
export function judgeHealth(
  answer: FetchResult,
  expected: Pick<VerificationSubject, 'id' | 'key'> & { readonly nonce: string },
): CheckJudgement & { readonly isUnloaded?: boolean } {
  if (answer.kind !== 'response') return unanswered(answer);
  const json = parseJson(answer.body.toString('utf8'));
  const health = healthSchema.safeParse(json).data;
  // A 503 may be the agent's own "not ready", but without its signature it may come from any program.
  if (answer.status !== 200 && health === undefined) return failure(statusWords(answer));
  if (json === undefined) return failure('not JSON');
  if (health?.id !== expected.id || !verifyHealth(expected.key, { ...expected, ...health }))
    return { result: 'identity_mismatch', error: "not signed by this provider's key" };
  if (LOADING.test(health.status)) return { result: 'not_ready', error: 'the engine is loading' };
  if (answer.status !== 200) return failure(statusWords(answer));
  if (health.status !== 'ok') return failure(`status is "${readable(health.status)}"`);
  return { ...PASSED, isUnloaded: health.model === null };
}

export function judgeInference(answer: FetchResult): CheckJudgement {
  if (answer.kind === 'timed_out') return { result: 'timeout', error: answer.detail };
  return judgeEngineAnswer(answer, (json) =>
    completionSchema.safeParse(json).success ? PASSED : failure('no choices in the answer'),
  );
}

export function judgeModels(answer: FetchResult, model: string): CheckJudgement {
  return judgeEngineAnswer(answer, (json) => {
    const models = modelsSchema.safeParse(json).data?.data;
    if (models === undefined) return failure('not a list of models');
    const ids = models.map(({ id }) => id);
    const owner = models.find(({ id }) => id === model)?.owned_by?.slice(0, MAX_OWNER_LENGTH);
    if (ids.includes(model)) return { ...PASSED, ...(owner !== undefined && { ownedBy: owner }) };
    const error = `model "${readable(model)}" not listed (lists ${listed(ids)})`;
    return { result: 'model_mismatch', error };
  });
}

function judgeEngineAnswer(
  answer: FetchResult,
  judge: (json: unknown) => CheckJudgement,
): CheckJudgement {
  if (answer.kind !== 'response') return unanswered(answer);
  const json = parseJson(answer.body.toString('utf8'));
  if (answer.status !== 200) return notReady(answer, json) ?? failure(engineWords(answer));
  return json === undefined ? failure('not JSON') : judge(json);
}

/** Engines send one word; anything longer is truncated. */
const MAX_OWNER_LENGTH = 100;

/** Judges the engine by the last heartbeat. */
export function judgeEngine({ status, code }: AgentRecord['engine_health']): CheckJudgement {
  if (status === 'ok') return PASSED;
  if (LOADING.test(status)) return { result: 'not_ready', error: 'the engine is loading' };
  const answered = code === 0 ? 'no answer' : `HTTP ${code}`;
  return failure(`the engine is "${readable(status)}" (${answered})`);
}

type AgentResponse = Extract<FetchResult, { readonly kind: 'response' }>;

/** Error codes of an agent that accepts no more requests now. */
const BUSY_CODES: readonly unknown[] = ['paused', 'draining', 'busy'];

/** A refusal that means "later" rather than "no"; null otherwise. */
function notReady({ status }: AgentResponse, json: unknown): CheckJudgement | null {
  const error = errorSchema.safeParse(json).data?.error;
  if (status === 429) return { result: 'not_ready', error: 'the machine is busy (HTTP 429)' };
  if (status !== 503 || error === undefined) return null;
  if (BUSY_CODES.includes(error.code))
    return { result: 'not_ready', error: `the machine is ${String(error.code)} (HTTP 503)` };
  if (!LOADING.test(error.message ?? '')) return null;
  return { result: 'not_ready', error: 'the engine is loading a model (HTTP 503)' };
}

function unanswered({ kind, detail }: Exclude<FetchResult, AgentResponse>): CheckJudgement {
  if (kind === 'exhausted') return NOT_ASKED;
  return failure(kind === 'aborted' ? 'the run ran out of time' : detail);
}

/** Says nothing about the machine, which is asked again soon. */
export const NOT_ASKED: CheckJudgement = {
  result: 'not_ready',
  error: 'this gateway had no file descriptor left to ask it',
};

function statusWords({ status, headers }: AgentResponse): string {
  if (status === 401 && headers['x-gateway-agent'] === 'unauthorized')
    return '401 from the agent: it does not know this gateway';
  return status >= 300 && status < 400 ? `redirect refused (HTTP ${status})` : `HTTP ${status}`;
}

/** The status of an engine's answer that the agent forwarded. */
function engineWords(answer: AgentResponse): string {
  const words = statusWords(answer);
  return words === 'HTTP 401' ? 'the engine requires a key (HTTP 401)' : words;
}

function listed(ids: readonly string[]): string {
  if (ids.length === 0) return 'none';
  const first = ids.slice(0, 5).map(readable).join(', ');
  return ids.length > 5 ? `${first} and ${ids.length - 5} more` : first;
}

/** The result of a check, as far as it matters for the verdict. */
export type CheckResult =
  | 'passed'
  /** It passed in an earlier run. */
  | 'carried'
  | 'failed'
  /** The check did not run. */
  | 'missing'
  /** The check was left out to spare the GPU. */
  | 'spared'
  /** Another machine answers at this address. */
  | 'identity_mismatch'
  /** The engine answers, but does not have the model that the machine reports. */
  | 'model_mismatch'
  /** The engine is loading a model, the agent is full, paused or draining, or this gateway could not ask it. */
  | 'not_ready'
  /** The test inference was not answered in time. */
  | 'timeout';

/** An address that has been proved to be the provider's. */
export interface ProvedAddress {
  readonly source: CandidateSource;
  readonly latencyMs: number;
  /** Where routing would reach it, as in `http://192.168.1.20:3001`. */
  readonly address: string;
}

/** By which an address is preferred: the agent URL comes first, then what answers sooner. */
export const rankOf = ({ source, latencyMs }: ProvedAddress): number =>
  source === 'agent_url' ? -1 : latencyMs;

/** One entry of a run: what is shown, and what the verdict uses. */
export interface Finding {
  readonly check: Check & { readonly name: CheckName };
  readonly result: CheckResult;
  /** Null if the entry concerns no address, or an unproved one. */
  readonly reached: ProvedAddress | null;
  readonly ownedBy?: string;
}

/** `error` is human-readable, and empty if the check passed. */
export interface CheckJudgement {
  readonly result: CheckResult;
  readonly error: string;
  /** The `owned_by` of the model that was searched for, if the list has it. */
  readonly ownedBy?: string;
}

interface Circumstances {
  readonly latencyMs?: number;
  readonly detail?: string;
  readonly reached?: ProvedAddress;
}

export function findingOf(
  name: CheckName,
  { result, error, ...owner }: CheckJudgement,
  { latencyMs, detail, reached }: Circumstances = {},
): Finding {
  const passed = result === 'passed';
  const check = {
    name,
    passed,
    ...(latencyMs === undefined ? {} : { latencyMs: Math.round(latencyMs) }),
    ...(passed ? {} : { error }),
    ...(detail === undefined ? {} : { detail }),
  };
  return { check, result, reached: reached ?? null, ...owner };
}

/** Findings in the order of the check names; a check that did not run gets an entry too. */
export function completed(findings: readonly Finding[]): readonly Finding[] {
  return CHECK_NAMES.flatMap((name) => {
    const own = findings.filter(({ check }) => check.name === name);
    return own.length > 0 ? own : [findingOf(name, MISSING)];
  });
}

export const MISSING: CheckJudgement = { result: 'missing', error: CHECK_MISSING };

/** The entries of a test inference that was not run; they are shown as missing. */
export const SPARED: readonly Finding[] = [CHECKS.inference, CHECKS.latency].map((name) =>
  findingOf(name, { result: 'spared', error: CHECK_MISSING }),
);

export const PASSED: CheckJudgement = { result: 'passed', error: '' };

export function failure(error: string): CheckJudgement {
  return { result: 'failed', error };
}

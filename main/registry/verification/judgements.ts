import type { KeyObject } from 'node:crypto';
import * as z from 'zod';
import {
  type AgentRecord,
  type Check,
  CHECK_MISSING,
  CHECK_NAMES,
  type CheckName,
} from '#shared/provider.ts';
import { verifyHealth } from '../../platform/agent-identity.ts';
import type { PinnedResult } from '../../platform/pinned-request.ts';
import { type CandidateSource, readable } from './candidates.ts';

const healthSchema = z.object({ status: z.string(), id: z.string(), signature: z.string() });
const modelSchema = z.object({ id: z.string(), owned_by: z.string().optional().catch(undefined) });
const modelsSchema = z.object({ data: z.array(modelSchema) });
const completionSchema = z.object({ choices: z.array(z.looseObject({})).min(1) });
const errorSchema = z.object({
  error: z.object({ message: z.string().optional(), code: z.unknown().optional() }),
});

/** Whom a `/health` answer must come from. */
interface ExpectedIdentity {
  readonly id: string;
  readonly key: KeyObject;
  readonly nonce: string;
}

/** Whether a `/health` says that the engine has no model loaded; one that says nothing of it does not. */
export function reportsNoModel(answer: PinnedResult): boolean {
  if (answer.kind !== 'response') return false;
  return z.object({ model: z.null() }).safeParse(parseJson(answer.body)).success;
}

/** Words by which engines say that they will serve in a while (llama.cpp, vLLM, SGLang, TGI). */
const LOADING = /\b(loading|starting|warming)\b/i;

/** Judges the answer to `GET /health?nonce=`: who answers comes before what it says. */
export function judgeHealth(answer: PinnedResult, expected: ExpectedIdentity): Judgement {
  if (answer.kind !== 'response') return failure(unansweredWords(answer));
  const json = parseJson(answer.body);
  const health = healthSchema.safeParse(json).data;
  // A 503 may be the agent's own word for "not ready"; without its signature it is anybody's.
  if (answer.status !== 200 && health === undefined) return failure(statusWords(answer));
  if (json === undefined) return failure('not JSON');
  if (health?.id !== expected.id || !verifyHealth(expected.key, { ...expected, ...health })) {
    return { result: 'identity_mismatch', error: "not signed by this provider's key" };
  }
  if (LOADING.test(health.status)) return { result: 'loading', error: 'the engine is loading' };
  if (answer.status !== 200) return failure(statusWords(answer));
  if (health.status !== 'ok') return failure(`status is "${readable(health.status)}"`);
  return PASSED;
}

/** Judges the answer to a test inference. */
export function judgeInference(answer: PinnedResult): Judgement {
  if (answer.kind === 'timeout') return { result: 'timeout', error: answer.error };
  if (answer.kind !== 'response') return failure(unansweredWords(answer));
  const json = parseJson(answer.body);
  if (answer.status !== 200) return notReady(answer, json) ?? failure(statusWords(answer));
  if (json === undefined) return failure('not JSON');
  return completionSchema.safeParse(json).success ? PASSED : failure('no choices in the answer');
}

/** Judges the answer to `GET /v1/models`. */
export function judgeModels(answer: PinnedResult, model: string): Judgement {
  if (answer.kind !== 'response') return failure(unansweredWords(answer));
  const json = parseJson(answer.body);
  if (answer.status !== 200) return notReady(answer, json) ?? failure(statusWords(answer));
  if (json === undefined) return failure('not JSON');
  const ids = modelsSchema.safeParse(json).data?.data.map(({ id }) => id);
  if (ids === undefined) return failure('not a list of models');
  if (ids.includes(model)) return PASSED;
  const error = `model "${readable(model)}" not listed (lists ${listed(ids)})`;
  return { result: 'model_mismatch', error };
}

/** Engines say a word; whatever is longer is none. */
const MAX_OWNER_LENGTH = 100;

/** The `owned_by` of a listed model; null where the list does not say. */
export function ownerOf(answer: PinnedResult, model: string): string | null {
  if (answer.kind !== 'response') return null;
  const models = modelsSchema.safeParse(parseJson(answer.body)).data?.data ?? [];
  const owner = models.find(({ id }) => id === model)?.owned_by;
  return owner === undefined ? null : owner.slice(0, MAX_OWNER_LENGTH);
}

/** Judges the engine's health as the last heartbeat told it. */
export function judgeEngine({ status, code }: AgentRecord['engine_health']): Judgement {
  if (status === 'ok') return PASSED;
  if (LOADING.test(status)) return { result: 'loading', error: 'the engine is loading' };
  const answered = code === 0 ? 'no answer' : `HTTP ${code}`;
  return failure(`the engine is "${readable(status)}" (${answered})`);
}

/** Judges the number of GPUs as the last heartbeat told it. */
export function judgeGpus(count: number): Judgement {
  return count > 0 ? PASSED : failure('no GPU reported');
}

type Answered = Extract<PinnedResult, { readonly kind: 'response' }>;

/** Error codes by which an agent says that it will not take more now. */
const BUSY_CODES: readonly unknown[] = ['paused', 'draining', 'busy'];

/** A refusal that says "later" rather than "no"; null when it does not. */
function notReady({ status }: Answered, json: unknown): Judgement | null {
  const error = errorSchema.safeParse(json).data?.error;
  if (status === 429) return { result: 'busy', error: 'the machine is busy (HTTP 429)' };
  if (status !== 503 || error === undefined) return null;
  if (BUSY_CODES.includes(error.code)) {
    return { result: 'busy', error: `the machine is ${String(error.code)} (HTTP 503)` };
  }
  if (!LOADING.test(error.message ?? '')) return null;
  return { result: 'loading', error: 'the engine is loading a model (HTTP 503)' };
}

function unansweredWords(answer: Exclude<PinnedResult, Answered>): string {
  return answer.kind === 'aborted' ? 'the run was out of time' : answer.error;
}

function statusWords({ status, headers }: Answered): string {
  if (status === 401 && headers['x-gateway-agent'] === 'unauthorized') {
    return '401 from the agent: it does not know this gateway';
  }
  return status >= 300 && status < 400 ? `redirect refused (HTTP ${status})` : `HTTP ${status}`;
}

function listed(ids: readonly string[]): string {
  if (ids.length === 0) return 'none';
  const first = ids.slice(0, 5).map(readable).join(', ');
  return ids.length > 5 ? `${first} and ${ids.length - 5} more` : first;
}

/** What a body says; undefined when it is not JSON. */
function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}

/** What a check came to, in terms that decide what becomes of the provider. */
export type Result =
  | 'passed'
  | 'failed'
  /** It did not run. */
  | 'missing'
  /** Somebody else answers at this address. */
  | 'identity_mismatch'
  /** The engine answers, and does not have the model that the machine reports. */
  | 'model_mismatch'
  /** The engine says that it is loading a model. */
  | 'loading'
  /** The agent is full, paused or draining. */
  | 'busy'
  /** The test inference had no answer in its time. */
  | 'timeout';

/** An address that was proved to be the provider's. */
export interface Reached {
  readonly source: CandidateSource;
  readonly latencyMs: number;
  /** Where routing would reach it, as in `http://192.168.1.20:3001`. */
  readonly address: string;
}

/** One entry of a run: what will be shown, and what it decides. */
export interface Finding {
  readonly check: Check & { readonly name: CheckName };
  readonly result: Result;
  /** The address that it speaks of; null where that is none or not proved. */
  readonly reached: Reached | null;
  /** Taken over from an earlier run. */
  readonly carried: boolean;
  /** The `owned_by` of the model that was looked for. */
  readonly ownedBy?: string;
}

/** What an answer was judged to be; `error` is for people and empty where all is well. */
export interface Judgement {
  readonly result: Result;
  readonly error: string;
}

/** What a finding speaks of beside its judgement. */
interface Circumstances {
  readonly latencyMs?: number;
  readonly detail?: string;
  readonly reached?: Reached;
  readonly ownedBy?: string;
}

/** Makes the entry of a judgement. */
export function findingOf(
  name: CheckName,
  { result, error }: Judgement,
  { latencyMs, detail, reached, ownedBy }: Circumstances = {},
): Finding {
  const passed = result === 'passed';
  const check = {
    name,
    passed,
    ...(latencyMs === undefined ? {} : { latencyMs: Math.round(latencyMs) }),
    ...(passed ? {} : { error }),
    ...(detail === undefined ? {} : { detail }),
  };
  const owner = ownedBy === undefined ? {} : { ownedBy };
  return { check, result, reached: reached ?? null, carried: false, ...owner };
}

/** Findings in the order of the checks' names; a check that did not run appears all the same. */
export function completed(findings: readonly Finding[]): readonly Finding[] {
  return CHECK_NAMES.flatMap((name) => {
    const own = findings.filter(({ check }) => check.name === name);
    return own.length > 0 ? own : [findingOf(name, MISSING)];
  });
}

/** A check that did not run (interface 2.3). */
export const MISSING: Judgement = { result: 'missing', error: CHECK_MISSING };

export const PASSED: Judgement = { result: 'passed', error: '' };

/** A check that failed for the reason given. */
export function failure(error: string): Judgement {
  return { result: 'failed', error };
}

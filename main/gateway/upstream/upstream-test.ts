import { memberOf, parseJson, textOf } from '../../platform/json.ts';
import type { UpstreamTest } from '#shared/live.ts';
import { type ExchangeDeps, type JsonAnswer, sendAdjusted } from './exchange.ts';
import type { Memory } from '../memory/memory.ts';
import type { ChatCall, UpstreamCall } from './call.ts';
import { type ChatRequest, parseChatRequest } from '../protocols/chat-request.ts';
import { classify, type Failure } from './failure.ts';
import { tokenCounts } from '../protocols/tokens.ts';
import { saysLoading } from './refusals.ts';
import { shownWords } from '../protocols/upstream-error.ts';

export interface TestDeps extends ExchangeDeps {
  readonly memory: Memory;
}

/** Somebody waits for it in the window; a cold start of `ondemand` may take as long as its own timeout. */
const MAX_TEST_MS = 30_000;

export interface TestOutcome {
  readonly result: UpstreamTest;
  /** A completion was asked for, and not only the list of models. */
  readonly isCompletion: boolean;
  /** What a failed completion means for the circuits; null without one. */
  readonly failure: Failure | null;
  /** The machine of Local that was called; null at any other upstream. */
  readonly provider: string | null;
  readonly model: string;
}

/** The smallest completion, sent to one upstream past routing and circuits. Never rejects. */
export async function testUpstream(
  callFor: (call: ChatCall) => UpstreamCall,
  deps: TestDeps,
): Promise<TestOutcome> {
  const { clock } = deps;
  const call = callFor({
    request: REQUEST,
    asked: REQUEST,
    headers: {},
    authorization: null,
    zeroSpend: false,
    chatForm: null,
    native: () => REQUEST,
    isHashFixed: false,
  });
  const startedAt = clock.ticks();
  const maxMs = call.upstream === 'ondemand' ? call.timeoutMs : MAX_TEST_MS;
  const idleTimeoutMs = Math.min(call.timeoutMs, maxMs);
  const known = deps.memory.of(call.provider ?? call.upstream);
  const limits = { deadline: startedAt + idleTimeoutMs, idleTimeoutMs, signal: NEVER };
  const { seen } = await sendAdjusted({ call, known, onContent() {}, ...limits }, deps);
  const totalMs = Math.round(clock.ticks() - startedAt);
  const { provider, model } = call;
  const about = { isCompletion: true, provider, model };
  if (seen.kind === 'answer')
    return { ...about, result: answered(seen, call, { startedAt, totalMs }), failure: null };
  if (seen.kind === 'stream' || seen.kind === 'bytes' || seen.kind === 'cancelled')
    throw new Error(`a test is neither relayed nor cancelled: ${seen.kind}`);
  const failure = classify(seen, call, clock.now());
  return { ...about, result: { ok: false, ...shown(failure), totalMs }, failure };
}

const NEVER = new AbortController().signal;

const QUESTION = {
  messages: [{ role: 'user', content: 'Reply with OK.' }],
  // Reasoning models spend a few tokens before the first of their answer.
  max_tokens: 16,
};

/** A body of the gateway's own is never a bad one. */
const REQUEST = parseChatRequest(Buffer.from(JSON.stringify(QUESTION))) as ChatRequest;

function answered(
  { body, contentAt }: JsonAnswer,
  { model, provider }: UpstreamCall,
  { startedAt, totalMs }: { readonly startedAt: number; readonly totalMs: number },
): UpstreamTest {
  const answer = parseJson(body.toString());
  const told = tokenCounts(memberOf(answer, 'usage'));
  return {
    ok: true,
    model: textOf(memberOf(answer, 'model')) ?? model,
    provider,
    ttftMs: contentAt === null ? null : Math.round(contentAt - startedAt),
    totalMs,
    promptTokens: told?.input ?? null,
    completionTokens: told?.output ?? null,
  };
}

function shown({ reason, detail, said }: Failure) {
  const isStarting = reason === 'busy' && saysLoading({ message: said });
  return {
    reason: isStarting ? ('starting' as const) : reason,
    message: shownWords(said) || detail,
  };
}

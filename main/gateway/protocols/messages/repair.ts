import { isObject, listOf, memberOf, parseJson, writeJson } from '../../../platform/json.ts';
import { dataOf, eventWith } from '../sse.ts';
import type { EventRepair } from '../typed-events.ts';

type Json = Readonly<Record<string, unknown>>;

/**
 * Puts right what clients stumble over in the events of one message: a second start, at which Anthropic's clients begin
 * anew (BerriAI/litellm#32478); a second end of a block, at which they run its tool again (BerriAI/litellm#37273); the
 * reason `end_turn` of a message that calls a tool, as `messageWithReason`; no reason where there was one before. An end without
 * any reason is vLLM's for an answer that it gave up (entrypoints/anthropic/serving.py).
 */
export function createMessageRepair(): EventRepair {
  const open = new Set<unknown>();
  let hasBegun = false;
  let hasCalls = false;
  let reason: unknown = null;

  function isRepeated({ type, index, content_block: block }: Json): boolean {
    switch (type) {
      case 'message_start': {
        const isSecond = hasBegun;
        hasBegun = true;
        return isSecond;
      }
      case 'content_block_start':
        open.add(index);
        hasCalls ||= isCall(block);
        return false;
      case 'content_block_stop':
        return !open.delete(index);
      default:
        return false;
    }
  }

  function withReason(event: Buffer, value: Json): Buffer {
    const given = memberOf(value, 'delta', 'stop_reason');
    reason = reasonOf(given ?? reason, hasCalls);
    const delta = isObject(value['delta']) ? value['delta'] : {};
    if (given === reason || reason === null) return event;
    return eventWith(event, JSON.stringify({ ...value, delta: { ...delta, stop_reason: reason } }));
  }

  return {
    words: ['message_', 'content_block_st'],
    take(event) {
      const value = parseJson(dataOf(event) ?? '');
      if (!isObject(value)) return event;
      if (isRepeated(value)) return null;
      return value['type'] === 'message_delta' ? withReason(event, value) : event;
    },
    isWhole: () => reason !== null,
  };
}

const isCall = (block: unknown): boolean => memberOf(block, 'type') === 'tool_use';

/** Clients call no tool after `end_turn`, which vLLM says where the caller named the tool (vllm-project/agentic-api#296). */
const reasonOf = (reason: unknown, hasCalls: boolean): unknown =>
  hasCalls && reason === 'end_turn' ? 'tool_use' : reason;

/** As `createMessageRepair`, for a whole message. */
export function messageWithReason(message: Json): Json {
  const { stop_reason: given, content } = message;
  const reason = reasonOf(given, listOf(content).some(isCall));
  return reason === given ? message : { ...message, stop_reason: reason };
}

/** Longer messages are passed on as they are. */
const MAX_REPAIRED_BYTES = 256 * 1024;
const SUSPECT = /"stop_reason"\s*:\s*"end_turn"/;
const CALLS = /"type"\s*:\s*"tool_use"/;

export function repairedMessage(body: Buffer): Buffer {
  if (body.length > MAX_REPAIRED_BYTES) return body;
  const text = body.toString('utf8');
  if (!SUSPECT.test(text) || !CALLS.test(text)) return body;
  const message = parseJson(text);
  const right = isObject(message) ? messageWithReason(message) : message;
  const json = right === message ? null : writeJson(right);
  return json === null ? body : Buffer.from(json);
}

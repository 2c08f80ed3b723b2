import { isObject } from '#shared/objects.ts';
import { listOf, memberOf, parseJson, writeJson } from '../../../platform/json.ts';
import { dataOf } from '../sse.ts';
import type { EventRepair } from '../typed-events.ts';

type Json = Readonly<Record<string, unknown>>;

const ITEM_DONE = 'response.output_item.done';
const COMPLETED = 'response.completed';
const INCOMPLETE = Buffer.from('"incomplete"');
const NO_OUTPUT = /"output"\s*:\s*\[\s*\]/;
/** Of items that are kept for the last event. */
const MAX_KEPT_BYTES = 4 * 1024 * 1024;

/**
 * Puts right the last event of a response: vLLM calls it `response.completed` also where the limit cut the answer off
 * (vllm-project/agentic-api#273), and Codex's host leaves the output out (NousResearch/hermes-agent#5689).
 */
export function createResponseRepair(): EventRepair {
  const done: Buffer[] = [];
  let keptBytes = 0;

  function keep(event: Buffer): void {
    keptBytes += event.length;
    if (keptBytes <= MAX_KEPT_BYTES) done.push(event);
    else done.length = 0;
  }

  function withEnd(event: Buffer, type: string): Buffer {
    const isSuspect = event.includes(INCOMPLETE) || NO_OUTPUT.test(event.toString('latin1'));
    const value = isSuspect ? parseJson(dataOf(event) ?? '') : undefined;
    const response = memberOf(value, 'response');
    if (!isObject(value) || !isObject(response)) return event;
    const right = withOutput(response, done.map(itemOf));
    const isCut = type === COMPLETED && response['status'] === 'incomplete';
    if (right === response && !isCut) return event;
    const name = isCut ? 'response.incomplete' : type;
    const json = writeJson({ ...value, type: name, response: right });
    return json === null ? event : Buffer.from(`event: ${name}\ndata: ${json}\n\n`);
  }

  return {
    words: [ITEM_DONE],
    take(event, type) {
      if (type === ITEM_DONE) keep(event);
      return type === COMPLETED || type === 'response.incomplete' ? withEnd(event, type) : event;
    },
    isWhole: () => true,
  };
}

const itemOf = (event: Buffer): unknown => memberOf(parseJson(dataOf(event) ?? ''), 'item');

/** The response with what came before it, where it has no output itself. */
export const withOutput = (response: Json, items: readonly unknown[]): Json =>
  items.length > 0 && Array.isArray(response['output']) && listOf(response['output']).length === 0
    ? { ...response, output: items }
    : response;

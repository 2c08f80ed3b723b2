import { isObject } from '#shared/objects.ts';
import { parseJson, writeJson } from '../../../platform/json.ts';
import type { Assembly } from '../assembly.ts';

type Json = Record<string, unknown>;

interface Block {
  readonly fields: Json;
  /** A tool's input, which comes as pieces of JSON. */
  inputJson: string;
}

/** An answer has a few dozen. */
const MAX_BLOCKS = 10_000;

/** Builds a message from its events, as Anthropic's own clients do. */
export function createMessageAssembly(): Assembly {
  let message: Json | null = null;
  let hasEnded = false;
  const blocks = new Map<unknown, Block>();

  function add(chunk: Readonly<Json>): void {
    const { type, index, delta, content_block: block, usage } = chunk;
    if (type === 'message_start' && isObject(chunk['message'])) message = { ...chunk['message'] };
    if (type === 'content_block_start' && isObject(block) && blocks.size <= MAX_BLOCKS) {
      blocks.set(index, { fields: { ...block }, inputJson: '' });
    }
    if (type === 'content_block_delta' && isObject(delta)) merge(blocks.get(index), delta);
    if (type === 'message_delta' && message !== null) {
      if (isObject(delta)) Object.assign(message, delta);
      // The last counts are those of the whole message.
      if (isObject(usage)) message['usage'] = { ...objectOf(message['usage']), ...usage };
    }
    if (type === 'message_stop') hasEnded = message !== null;
  }

  return {
    add(chunk) {
      if (isObject(chunk)) add(chunk);
    },
    finished: () => hasEnded,
    problem: () => (blocks.size > MAX_BLOCKS ? `an answer of over ${MAX_BLOCKS} blocks` : null),
    result() {
      if (message === null || !hasEnded) return null;
      const text = writeJson({ ...message, content: [...blocks.values()].map(blockOf) });
      return text === null ? null : Buffer.from(text);
    },
  };
}

const objectOf = (value: unknown): Readonly<Json> => (isObject(value) ? value : {});

/** Text is continued, a citation added to the list; of anything else the last value counts. */
function merge(block: Block | undefined, delta: Readonly<Json>): void {
  if (block === undefined) return;
  const { fields } = block;
  for (const [key, value] of Object.entries(delta)) {
    if (key === 'type') continue;
    if (key === 'partial_json') block.inputJson += String(value);
    else if (key === 'citation') addCitation(fields, value);
    else if (typeof value === 'string') {
      const before = fields[key];
      fields[key] = (typeof before === 'string' ? before : '') + value;
    } else fields[key] = value;
  }
}

function addCitation(fields: Json, citation: unknown): void {
  const { citations } = fields;
  if (Array.isArray(citations)) citations.push(citation);
  else fields['citations'] = [citation];
}

function blockOf({ fields, inputJson }: Block): Json {
  if (inputJson === '') return fields;
  return { ...fields, input: parseJson(inputJson) ?? {} };
}

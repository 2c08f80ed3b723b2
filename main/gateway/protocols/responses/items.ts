import { isObject, listOf, memberOf } from '../../../platform/json.ts';

type Json = Readonly<Record<string, unknown>>;

/** An answer has a few dozen. */
const MAX_ITEMS = 10_000;

/** Members of an item that come in pieces, by the name of their events. */
const MEMBERS: Readonly<Record<string, string>> = {
  function_call_arguments: 'arguments',
  mcp_call_arguments: 'arguments',
  custom_tool_call_input: 'input',
};

interface PartPlace {
  readonly list: 'content' | 'summary';
  readonly type: string;
  readonly key: string;
}

/** Parts of an item that do. */
const PARTS: Readonly<Record<string, PartPlace>> = {
  output_text: { list: 'content', type: 'output_text', key: 'text' },
  refusal: { list: 'content', type: 'refusal', key: 'refusal' },
  reasoning_text: { list: 'content', type: 'reasoning_text', key: 'text' },
  reasoning_summary_text: { list: 'summary', type: 'summary_text', key: 'text' },
};

/**
 * The items of a response, gathered from its events: some hosts never say that an item is done (NousResearch/hermes-agent#92764),
 * and end with an empty output.
 */
export function createItems() {
  const items = new Map<unknown, Json>();

  function grow(event: Json, name: string, isDone: boolean): void {
    const { delta } = event;
    const at = placeOf(event);
    const item = items.get(at);
    const part = PARTS[name];
    const key = part?.key ?? MEMBERS[name];
    if (item === undefined || key === undefined) return;
    const grown = (holder: Json) => {
      const before = holder[key];
      const text = isDone ? event[key] : (typeof before === 'string' ? before : '') + String(delta);
      return { ...holder, [key]: text ?? before };
    };
    items.set(at, part === undefined ? grown(item) : withPart(item, part, event, grown));
  }

  return {
    add(event: Json) {
      const { type, item } = event;
      const [, name = '', what = ''] = /^response\.(\w+)\.(\w+)$/.exec(String(type)) ?? [];
      const isDone = what === 'done';
      if (name !== 'output_item') grow(event, name, isDone);
      else if (isObject(item) && items.size < MAX_ITEMS) {
        const at = placeOf(event) ?? (isDone ? items.size : null);
        if (at !== null) items.set(at, item);
      }
    },
    all: (): readonly unknown[] => [...items.values()],
  };
}

/** llama.cpp names no `output_index` (b11669). */
const placeOf = ({ output_index: index, item_id: id, item }: Json): unknown =>
  index ?? id ?? memberOf(item, 'id');

function withPart(
  item: Json,
  { list, type }: PartPlace,
  event: Json,
  grown: (part: Json) => Json,
): Json {
  const parts = [...listOf(item[list])];
  const index = Number(event[list === 'summary' ? 'summary_index' : 'content_index'] ?? 0);
  const known = parts[index];
  // Places are counted up, so that another one is none.
  if (index > parts.length || index < 0) return item;
  parts[index] = grown(isObject(known) ? known : { type });
  return { ...item, [list]: parts };
}

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

/** Parts of an item that do: where they are, their type and what grows. */
const PARTS: Readonly<Record<string, readonly [list: string, type: string, key: string]>> = {
  output_text: ['content', 'output_text', 'text'],
  refusal: ['content', 'refusal', 'refusal'],
  reasoning_text: ['content', 'reasoning_text', 'text'],
  reasoning_summary_text: ['summary', 'summary_text', 'text'],
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
    const [list, type, key = MEMBERS[name]] = PARTS[name] ?? [];
    if (item === undefined || key === undefined) return;
    const grown = (holder: Json) => {
      const before = holder[key];
      const text = isDone ? event[key] : (typeof before === 'string' ? before : '') + String(delta);
      return { ...holder, [key]: text ?? before };
    };
    if (list === undefined) items.set(at, grown(item));
    else {
      const parts = [...listOf(item[list])];
      const index = Number(event[`${list}_index`] ?? 0);
      const known = parts[index];
      // Places are counted up, so that another one is none.
      if (index >= 0 && index <= parts.length)
        parts[index] = grown(isObject(known) ? known : { type });
      items.set(at, { ...item, [list]: parts });
    }
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

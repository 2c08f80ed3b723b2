import { asList, asObject, asText, type Json, objectIn } from './events.ts';
import { type Draft, type Finish, type Heard, newDraft, type Reader, usageIn } from './heard.ts';

const usageOf = (usage: unknown) => usageIn(asObject(usage), 'input_tokens', 'output_tokens');

/** Reasoning comes before the message, and that before calls. */
const ORDER = ['reasoning', 'message', 'function_call'];

/** A whole response. */
export function hearResponse(body: Json): Heard {
  const draft = newDraft();
  const { output, status, usage } = body;
  if (body['object'] !== 'response') draft.faults.push('it is no response');
  addItems(draft, asList(output));
  draft.end = status === 'completed' || status === 'incomplete' ? 'whole' : 'broken';
  draft.finish = finishOf(body, draft);
  draft.usages.push(usageOf(usage));
  return draft;
}

function finishOf({ status, incomplete_details: details }: Json, { calls }: Draft): Finish | null {
  if (status === 'completed') return calls.length > 0 ? 'tool_calls' : 'stop';
  const { reason } = asObject(details);
  if (reason === 'content_filter') return reason;
  return reason === 'max_output_tokens' ? 'length' : null;
}

function addItems(draft: Draft, items: readonly Json[]): void {
  const places = items.map(({ type }) => ORDER.indexOf(asText(type)));
  if (!places.every((place, at) => place !== -1 && place >= (places[at - 1] ?? 0)))
    draft.faults.push(`items in the order ${items.map(({ type }) => type).join(', ')}`);
  for (const item of items) {
    draft.reasoning += textIn(item['summary']);
    draft.text += textIn(item['content']);
    if (item['type'] === 'function_call')
      draft.calls.push({
        id: asText(item['call_id']),
        name: asText(item['name']),
        arguments: asText(item['arguments']),
      });
  }
}

const textIn = (parts: unknown) =>
  asList(parts)
    .map(({ text }) => asText(text))
    .join('');

/** An item of which some has come. */
interface OpenItem {
  readonly type: string;
  readonly id: unknown;
  readonly call: { readonly id: string; readonly name: string };
  text: string;
  isDone: boolean;
}

/** The events of one, in the order that OpenAI's clients rely on; its items must come to the same in the end. */
export function createResponsesReader(): Reader {
  const draft = newDraft();
  const { faults } = draft;
  const items: OpenItem[] = [];
  let sequence = 0;
  let id: unknown = null;
  let last: Json | null = null;

  function startItem({ output_index: place, item: given }: Json): void {
    const item = asObject(given);
    const call = { id: asText(item['call_id']), name: asText(item['name']) };
    if (place !== items.length) faults.push(`item ${String(place)} after ${items.length}`);
    const before = items.at(-1);
    if (before?.isDone === false && before.type !== 'function_call')
      faults.push(`an item before the end of ${before.type}`);
    items.push({ type: asText(item['type']), id: item['id'], call, text: '', isDone: false });
  }

  /** The open item that an event is about. */
  function itemOf({ output_index: place, item_id: itemId }: Json, type: string): OpenItem | null {
    const item = items[Number(place)];
    if (item === undefined || item.isDone || item.id !== itemId) {
      faults.push(`${type} of no open item`);
      return null;
    }
    return item;
  }

  function addDelta(event: Json, type: string, of: string): void {
    const item = itemOf(event, type);
    if (item === null) return;
    if (item.type !== of) faults.push(`${type} in ${item.type}`);
    item.text += asText(event['delta']);
  }

  function sameText(event: Json, type: string, text: unknown): void {
    const item = itemOf(event, type);
    if (item !== null && item.text !== text) faults.push(`${type} differs from its deltas`);
  }

  function endItem({ output_index: place, item: given }: Json): void {
    const item = asObject(given);
    const open = items[Number(place)];
    if (open === undefined || open.isDone || open.id !== item['id']) {
      faults.push('the end of no open item');
      return;
    }
    const text = asText(item['arguments']) || textIn(item['summary']) + textIn(item['content']);
    if (text !== open.text) faults.push(`the end of ${open.type} differs from its deltas`);
    open.isDone = true;
  }

  function end(event: Json, type: string): void {
    last = asObject(event['response']);
    if (type !== `response.${String(last['status'])}`) faults.push(`${type} with another status`);
    if (last['id'] !== id) faults.push('another id at the end');
    if (items.some(({ isDone }) => !isDone)) faults.push('an item without an end');
  }

  const begin = (event: Json) => {
    id = asObject(event['response'])['id'];
    if (sequence !== 1) faults.push('it begins again');
  };
  const breakOff = () => void (draft.end = 'broken');
  const endOfText = (event: Json, type: string) => sameText(event, type, event['text']);
  const endOfPart = (event: Json, type: string) =>
    sameText(event, type, asObject(event['part'])['text']);
  const steps: Readonly<Record<string, (event: Json, type: string) => void>> = {
    'response.created': begin,
    'response.in_progress': () => {},
    'response.output_item.added': startItem,
    'response.content_part.added': () => {},
    'response.reasoning_summary_part.added': () => {},
    'response.output_text.delta': (event, type) => addDelta(event, type, 'message'),
    'response.reasoning_summary_text.delta': (event, type) => addDelta(event, type, 'reasoning'),
    'response.function_call_arguments.delta': (event, type) =>
      addDelta(event, type, 'function_call'),
    'response.output_text.done': endOfText,
    'response.reasoning_summary_text.done': endOfText,
    'response.function_call_arguments.done': (event, type) =>
      sameText(event, type, event['arguments']),
    'response.content_part.done': endOfPart,
    'response.reasoning_summary_part.done': endOfPart,
    'response.output_item.done': endItem,
    'response.completed': end,
    'response.incomplete': end,
    error: breakOff,
    'response.failed': breakOff,
  };

  return {
    event(name, data) {
      const event = objectIn(data);
      // A stream that breaks ends with two events, as some clients know one and some the other.
      const isSecond = draft.end === 'broken' && name === 'response.failed';
      if (last !== null || (draft.end === 'broken' && !isSecond))
        faults.push('an event after the end');
      if (event === null || event['type'] !== name) {
        faults.push(`no event of ${name}: ${data}`);
        return;
      }
      // The error event that the gateway puts in place of the rest does not know the number.
      if (event['sequence_number'] !== sequence && name !== 'error')
        faults.push(`${name} has the number ${String(event['sequence_number'])}`);
      sequence += 1;
      const step = steps[name];
      if (step === undefined) faults.push(`an event ${name}`);
      else step(event, name);
    },
    heard() {
      const told = items.map(({ type, call, text }) => {
        const parts = [{ text }];
        if (type === 'function_call')
          return { type, call_id: call.id, name: call.name, arguments: text };
        return type === 'reasoning' ? { type, summary: parts } : { type, content: parts };
      });
      addItems(draft, told);
      if (last === null) return draft;
      const whole = hearResponse(last);
      for (const field of ['text', 'reasoning'] as const)
        if (whole[field] !== draft[field]) faults.push(`${field} differs at the end`);
      if (JSON.stringify(whole.calls) !== JSON.stringify(draft.calls))
        faults.push('calls differ at the end');
      const { end: state, finish, usages } = whole;
      return { ...draft, end: state, finish, usages: [...usages] };
    },
  };
}

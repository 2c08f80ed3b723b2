import { asList, asObject, asText, type Json, objectIn } from './events.ts';
import { type Draft, type Finish, type Heard, newDraft, type Reader, usageIn } from './heard.ts';

const FINISHES: ReadonlyMap<unknown, Finish> = new Map([
  ['end_turn', 'stop'],
  ['max_tokens', 'length'],
  ['tool_use', 'tool_calls'],
  ['refusal', 'content_filter'],
]);

const usageOf = (usage: Json) => usageIn(usage, 'input_tokens', 'output_tokens');

/** Thinking comes before text, and text before calls. */
const ORDER = ['thinking', 'text', 'tool_use'];

/** A whole message. */
export function hearMessage(body: Json): Heard {
  const draft = newDraft();
  if (body['type'] !== 'message' || body['role'] !== 'assistant')
    draft.faults.push('it is no message');
  const blocks = asList(body['content']);
  checkOrder(blocks, draft);
  for (const block of blocks) {
    draft.reasoning += asText(block['thinking']);
    draft.text += asText(block['text']);
    if (block['type'] === 'tool_use')
      draft.calls.push({
        id: asText(block['id']),
        name: asText(block['name']),
        arguments: JSON.stringify(block['input']),
      });
  }
  draft.end = 'whole';
  draft.finish = FINISHES.get(body['stop_reason']) ?? null;
  draft.usages.push(usageOf(asObject(body['usage'])));
  return draft;
}

function checkOrder(blocks: readonly Json[], { faults }: Draft): void {
  const places = blocks.map(({ type }) => ORDER.indexOf(asText(type)));
  const isRight = places.every((place, at) => place !== -1 && place >= (places[at - 1] ?? 0));
  const several = blocks.filter(
    ({ type }, at) => type !== 'tool_use' && type === blocks[at - 1]?.['type'],
  );
  if (!isRight || several.length > 0)
    faults.push(`blocks in the order ${blocks.map(({ type }) => type).join(', ')}`);
}

/** The events of one, in the order that Anthropic's clients rely on. */
export function createMessagesReader(): Reader {
  const draft = newDraft();
  const { faults } = draft;
  const blocks: Json[] = [];
  let state: 'new' | 'between' | 'in block' | 'told' | 'stopped' = 'new';

  /** Goes on from one of these states only. */
  function go(from: readonly (typeof state)[], to: typeof state, type: string): void {
    if (!from.includes(state)) faults.push(`${type} while ${state}`);
    state = to;
  }

  function addDelta(delta: Json): void {
    const isOf = (type: string) => blocks.at(-1)?.['type'] === type;
    const call = draft.calls.at(-1);
    switch (delta['type']) {
      case 'text_delta':
        if (!isOf('text')) faults.push('text in another block');
        draft.text += asText(delta['text']);
        return;
      case 'thinking_delta':
        if (!isOf('thinking')) faults.push('thinking in another block');
        draft.reasoning += asText(delta['thinking']);
        return;
      case 'input_json_delta':
        if (!isOf('tool_use') || call === undefined) faults.push('arguments in another block');
        else
          draft.calls.splice(-1, 1, {
            ...call,
            arguments: call.arguments + asText(delta['partial_json']),
          });
        return;
      case 'signature_delta':
        if (!isOf('thinking')) faults.push('a signature in another block');
        return;
      default:
        faults.push(`a delta ${String(delta['type'])}`);
    }
  }

  function startBlock(index: unknown, block: Json): void {
    if (index !== blocks.length) faults.push(`block ${String(index)} after ${blocks.length}`);
    blocks.push(block);
    if (block['type'] === 'tool_use')
      draft.calls.push({ id: asText(block['id']), name: asText(block['name']), arguments: '' });
  }

  function add(type: string, event: Json): void {
    const { index } = event;
    const isCurrent = index === blocks.length - 1;
    switch (type) {
      case 'message_start':
        return go(['new'], 'between', type);
      case 'content_block_start':
        go(['between'], 'in block', type);
        return startBlock(index, asObject(event['content_block']));
      case 'content_block_delta':
        go(['in block'], 'in block', type);
        if (!isCurrent) faults.push(`a delta of block ${String(index)}`);
        return addDelta(asObject(event['delta']));
      case 'content_block_stop':
        if (!isCurrent) faults.push(`the end of block ${String(index)}`);
        return go(['in block'], 'between', type);
      case 'message_delta':
        draft.finish = FINISHES.get(asObject(event['delta'])['stop_reason']) ?? null;
        draft.usages.push(usageOf(asObject(event['usage'])));
        return go(['between'], 'told', type);
      case 'message_stop':
        draft.end = 'whole';
        return go(['told'], 'stopped', type);
      case 'error':
        draft.end = 'broken';
        return;
      case 'ping':
        return;
      default:
        faults.push(`an event ${type}`);
    }
  }

  return {
    event(name, data) {
      const event = objectIn(data);
      if (draft.end !== 'open') faults.push('an event after the end');
      if (event === null || event['type'] !== name) faults.push(`no event of ${name}: ${data}`);
      else add(name, event);
    },
    heard() {
      checkOrder(blocks, draft);
      return draft;
    },
  };
}

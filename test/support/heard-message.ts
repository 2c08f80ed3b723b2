import { isObject } from '../../main/platform/json.ts';
import { dataOf, eventsOf } from '../../main/gateway/protocols/sse.ts';
import { framesIn } from './resume.ts';

type Json = Record<string, unknown>;

/** What a client makes of the stream of a message; it takes only what the protocol allows. */
export function heardMessage(stream: string) {
  const heard = {
    starts: 0,
    stops: 0,
    blocks: [] as Json[],
    reasons: [] as unknown[],
    sequences: [] as unknown[],
    usage: {} as Json,
  };
  const open = new Set<number>();
  for (const event of typedEvents(stream)) {
    const { type, index, delta, content_block: block, message, usage } = event;
    const at = Number(index);
    if (heard.stops > 0) throw new Error(`${String(type)} after the end`);
    if (type !== 'message_start' && heard.starts === 0) throw new Error('no message_start');
    switch (type) {
      case 'message_start':
        heard.starts += 1;
        Object.assign(heard.usage, (message as Json)['usage']);
        break;
      case 'content_block_start':
        if (at !== heard.blocks.length) throw new Error(`block ${at} is out of turn`);
        heard.blocks.push({ ...(block as Json) });
        open.add(at);
        break;
      case 'content_block_delta':
        if (!open.has(at)) throw new Error(`block ${at} is not open`);
        merge(heard.blocks[at] ?? {}, delta as Json);
        break;
      case 'content_block_stop':
        if (!open.delete(at)) throw new Error(`block ${at} was not open`);
        break;
      case 'message_delta':
        heard.reasons.push((delta as Json)['stop_reason']);
        heard.sequences.push((delta as Json)['stop_sequence']);
        Object.assign(heard.usage, usage);
        break;
      case 'message_stop':
        heard.stops += 1;
        if (open.size > 0) throw new Error('a block has no end');
    }
  }
  return heard;
}

function typedEvents(stream: string): Json[] {
  return eventsOf(framesIn(stream)).flatMap((event) => {
    const data = dataOf(event);
    const value: unknown = data === null ? null : JSON.parse(data);
    return isObject(value) ? [value] : [];
  });
}

function merge(block: Json, delta: Json): void {
  for (const [key, piece] of Object.entries(delta)) {
    if (key === 'type') continue;
    const name = key === 'partial_json' ? 'json' : key;
    const before = block[name];
    block[name] = (typeof before === 'string' ? before : '') + String(piece);
  }
}

import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { Reply } from '../support/chat-answers.ts';
import { typed } from '../support/protocols.ts';
import type { Script } from '../support/upstream.ts';
import type { Json, Manner, Oddity } from './system.ts';

const HEAD = { id: 'chatcmpl-1', created: 1_700_000_000, model: 'm' };
const CHUNK = { ...HEAD, object: 'chat.completion.chunk' };

export const DONE = 'data: [DONE]\n\n';

const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [] };
export const MESSAGE_START = typed('message_start', {
  message: { ...MESSAGE, stop_reason: null, usage: { input_tokens: 1, output_tokens: 1 } },
});

export const textBlock = (text: string): readonly string[] => [
  typed('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  typed('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
  typed('content_block_stop', { index: 0 }),
];

/** The call of `a` with the number 1. */
export const CALL_BLOCK: readonly string[] = [
  typed('content_block_start', {
    index: 0,
    content_block: { type: 'tool_use', id: 'call_1', name: 'a', input: {} },
  }),
  typed('content_block_delta', {
    index: 0,
    delta: { type: 'input_json_delta', partial_json: '{"n":1}' },
  }),
  typed('content_block_stop', { index: 0 }),
];

export const messageEnd = (stop_reason: string | null): readonly string[] => [
  typed('message_delta', { delta: { stop_reason }, usage: { output_tokens: 2 } }),
  typed('message_stop'),
];

/** A response of one text, which ends with this event. */
export function responseEvents(text: string, end: string, more: Json): readonly string[] {
  const part = { type: 'output_text', text, annotations: [] };
  const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' };
  const response = { id: 'resp_1', object: 'response', model: 'm', output: [], error: null };
  const at = { output_index: 0, content_index: 0, item_id: item.id };
  const told = [
    typed('response.created', { response: { ...response, status: 'in_progress' } }),
    typed('response.output_item.added', { output_index: 0, item: { ...item, content: [] } }),
    typed('response.content_part.added', { ...at, part: { ...part, text: '' } }),
    typed('response.output_text.delta', { ...at, delta: text }),
    typed('response.output_text.done', { ...at, text }),
    typed('response.content_part.done', { ...at, part }),
    typed('response.output_item.done', { output_index: 0, item: { ...item, content: [part] } }),
  ];
  const output = [{ ...item, content: [part] }];
  const events = [...told, typed(end, { response: { ...response, output, ...more } })];
  return events.map((event, n) => event.replace('"type"', `"sequence_number":${n},"type"`));
}

/** One chunk with one choice. */
export const part = (delta: Json, finish_reason: string | null = null, more: Json = {}): Json => ({
  ...CHUNK,
  choices: [{ index: 0, delta, finish_reason }],
  ...more,
});

/** A whole answer of one choice. */
export const answer = (
  message: Json,
  finish_reason: string | null = 'stop',
  more: Json = {},
): Json => ({
  ...HEAD,
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }],
  ...more,
});

/** A piece of a call. */
export const piece = (
  index: number | null,
  name: string | null,
  json: unknown,
  more: Json = {},
) => ({
  ...(index === null ? {} : { index }),
  ...(name === null ? {} : { type: 'function' }),
  function: { ...(name === null ? {} : { name }), arguments: json },
  ...more,
});

/** As `usage` of chat completions. */
export const usage = (prompt_tokens: number, completion_tokens: number, more: Json = {}): Json => ({
  usage: {
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    ...more,
  },
});

/** The chunk with the usage alone. */
export const usagePart = (input: number, output: number, more: Json = {}): Json => ({
  ...CHUNK,
  choices: [],
  ...usage(input, output, more),
});

/** Cuts a text for its deltas. */
type Cutter = (text: string) => readonly string[];

/** Between UTF-16 units: inside a character too, as engines do. */
export const piecesOf =
  (chars: number): Cutter =>
  (text) =>
    Array.from({ length: Math.ceil(text.length / chars) }, (_, at) =>
      text.slice(at * chars, (at + 1) * chars),
    );

const inFives = piecesOf(5);

const nameOf = (finish: Reply['finish'], { finish: names = {} }: Manner) => names[finish] ?? finish;

/** The deltas of an answer. */
function deltasOf(said: Reply, manner: Manner, pieces: Cutter): Json[] {
  const { role, opening = { content: '' }, beside = {} } = manner;
  const first = role === undefined || role === 'each' ? [{ role: 'assistant', ...opening }] : [];
  const deltas = [
    ...first,
    ...pieces(said.reasoning).map((text) => thought(text, manner)),
    ...pieces(said.text).map((text) => ({ content: text })),
    ...said.calls.flatMap((call, at) => callPieces(call, at, manner, pieces)),
  ];
  const shown = { each: { role: 'assistant' }, 'empty in each': { role: '' }, none: {} };
  return deltas.map((delta) => ({ ...shown[role ?? 'none'], ...beside, ...delta }));
}

function thought(text: string, { reasoning }: Manner): Json {
  return {
    reasoning_content: { reasoning_content: text },
    reasoning: { reasoning: text },
    both: { reasoning_content: text, reasoning: text },
    parts: { content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }] },
  }[reasoning ?? 'reasoning_content'];
}

function callPieces(
  call: Reply['calls'][number],
  at: number,
  { calls = {} }: Manner,
  pieces: Cutter,
): Json[] {
  const { index, id, name, arguments: form, isOne } = calls;
  const number = { zero: 0, none: null, 'from one': at + 1 }[index ?? 'none'];
  const place = index === undefined ? at : number;
  const given = id === 'none' ? {} : { id: id === 'empty' ? '' : call.id };
  const json = form === 'object' ? (JSON.parse(call.arguments || '{}') as Json) : call.arguments;
  const first = piece(place, call.name, form === undefined ? '' : json, given);
  const again = {
    ...(id === 'each' ? { id: call.id } : {}),
    ...(id === 'empty later' ? { id: '' } : {}),
  };
  const shownName = { each: call.name, 'empty later': '' }[name ?? 'each'];
  const later = form === undefined ? pieces(call.arguments) : [];
  const all = [
    first,
    ...later.map((text) => piece(place, name === undefined ? null : shownName, text, again)),
  ];
  return all.map((each) => ({ tool_calls: isOne ? each : [each] }));
}

/** The values of `data`, without `[DONE]`; without the end where `isCut`. */
export function chunksOf(
  said: Reply,
  manner: Manner = {},
  { isCut = false, pieces = inFives }: { readonly isCut?: boolean; readonly pieces?: Cutter } = {},
): Json[] {
  const { before = [], behind = [], finishAt } = manner;
  const deltas = deltasOf(said, manner, pieces);
  const last = finishAt === 'last words' && !isCut ? deltas.pop() : undefined;
  const going = deltas.map((delta, at) => goingOn(delta, at, said, manner));
  const told = [...going, ...(isCut ? [] : endOf(last ?? {}, said, manner))];
  return [
    ...before,
    ...told.map((each) => ({ ...each, ...manner.around })),
    ...(isCut ? [] : behind),
  ];
}

function goingOn(delta: Json, at: number, said: Reply, { unfinished, usage: place }: Manner): Json {
  const reason = unfinished === 'absent' ? {} : { finish_reason: unfinished ?? null };
  return {
    ...CHUNK,
    choices: [{ index: 0, delta, ...reason }],
    ...(place === 'each' ? usage(said.usage.input, at) : {}),
  };
}

const usageOf = ({ usage: { input, output, cached } }: Reply): Json =>
  usage(input, output, {
    completion_tokens_details: { reasoning_tokens: 1 },
    ...(cached === 0 ? {} : { prompt_tokens_details: { cached_tokens: cached } }),
  });

/** The finish reason and the usage. */
function endOf(delta: Json, said: Reply, manner: Manner): Json[] {
  const { finishAt, usage: place } = manner;
  const counted = usageOf(said);
  const inChoice = place === 'in the choice' ? counted : {};
  const choice = { index: 0, delta, finish_reason: nameOf(said.finish, manner), ...inChoice };
  const isBeside = place === 'with the end' || place === 'each';
  const end = { ...CHUNK, choices: [choice], ...(isBeside ? counted : {}) };
  const alone = { ...CHUNK, choices: place === 'end again' ? [choice] : [], ...counted };
  return [
    end,
    ...(finishAt === 'twice' ? [end] : []),
    ...(place === undefined || place === 'end again' ? [alone] : []),
  ];
}

/** The bytes of events. */
export function eventsOf(values: readonly (Json | string)[], manner: Manner): string {
  const { lineEnd = '\n', blank = ' ', life = '', named = '' } = manner;
  const texts = values.map((value) =>
    typeof value === 'string' ? value : `${life}${named}data:${blank}${JSON.stringify(value)}\n\n`,
  );
  return texts.join('').replaceAll('\n', lineEnd);
}

function ending({ end = 'done', blank }: Pick<Manner, 'blank'> & { end?: Ending }): string[] {
  const done = `data:${blank ?? ' '}[DONE]\n\n`;
  return { done: [done], twice: [done, done], 'no blank line': [done.trimEnd()], none: [] }[end];
}

type Ending = NonNullable<Manner['end']> | 'done';

/** A whole answer. */
export function wholeOf(said: Reply, manner: Manner = {}): Json {
  const { calls = {}, usage: place } = manner;
  const given = said.calls.map((call) => ({
    ...(calls.id === 'none' ? {} : { id: calls.id === 'empty' ? '' : call.id }),
    type: 'function',
    function: {
      name: call.name,
      arguments:
        calls.arguments === 'object'
          ? (JSON.parse(call.arguments || '{}') as Json)
          : call.arguments,
    },
  }));
  const parts = [
    ...(said.reasoning === '' ? [] : [thought(said.reasoning, manner)['content']].flat()),
    ...(said.text === '' ? [] : [{ type: 'text', text: said.text }]),
  ];
  const isParts = manner.reasoning === 'parts' && said.reasoning !== '';
  const message = {
    role: manner.role === 'empty in each' ? '' : 'assistant',
    ...(said.reasoning === '' || isParts ? {} : thought(said.reasoning, manner)),
    content: isParts ? parts : said.text || null,
    ...(given.length > 0 && { tool_calls: given }),
  };
  const counted = place === 'none' ? {} : usageOf(said);
  return answer(message, nameOf(said.finish, manner), { ...manner.around, ...counted });
}

/** Sends text as the system does. */
function sending(type: string, text: string, manner: Manner, isCut = false): Script {
  const { coding, isClosing } = manner;
  return ({ res, socket }) => {
    // Without it Node ends the body with the connection.
    if (isClosing === true) res.removeHeader('transfer-encoding');
    const coded = coding === undefined ? {} : { 'content-encoding': coding };
    res.writeHead(200, { 'content-type': type, ...coded });
    const bytes = coding === undefined ? text : CODINGS[coding](text);
    if (!isCut) return void res.end(bytes);
    res.write(bytes, () => socket.destroy());
  };
}

const CODINGS = { gzip: gzipSync, br: brotliCompressSync };

const EVENTS = 'text/event-stream';

/** The system's answer to a chat completion, streamed or not as it was asked. */
export const saying =
  (said: Reply, manner: Manner): Script =>
  (call) => {
    const whole = JSON.stringify(wholeOf(said, manner));
    if (call.json['stream'] !== true || manner.isWhole)
      return sending('application/json', whole, manner)(call);
    const bytes = eventsOf([...chunksOf(said, manner), ...ending(manner)], manner);
    return sending(manner.contentType ?? EVENTS, bytes, manner)(call);
  };

/** How an answer is cut before its end. */
export type Cut = 'reset' | 'closed' | 'done';

/** The same without its end, or the first half of a whole one. */
export const sayingHalf =
  (said: Reply, manner: Manner, how: Cut): Script =>
  (call) => {
    const whole = JSON.stringify(wholeOf(said, manner));
    const half = whole.slice(0, whole.length / 2);
    if (call.json['stream'] !== true || manner.isWhole)
      return sending('application/json', half, manner, how === 'reset')(call);
    const done = how === 'done' ? ending({ ...manner, end: 'done' }) : [];
    const bytes = eventsOf([...chunksOf(said, manner, { isCut: true }), ...done], manner);
    return sending(manner.contentType ?? EVENTS, bytes, manner, how === 'reset')(call);
  };

/** An odd answer; what it lacks in one form it gives in the other. */
export const oddly =
  (
    { stream, whole, contentType }: Pick<Oddity, 'stream' | 'whole' | 'contentType'>,
    manner: Manner,
  ): Script =>
  (call) => {
    const isStream = stream !== undefined && (call.json['stream'] === true || whole === undefined);
    const bytes = isStream
      ? eventsOf(stream, manner)
      : typeof whole === 'string'
        ? whole
        : JSON.stringify(whole);
    return sending(contentType ?? (isStream ? EVENTS : 'application/json'), bytes, manner)(call);
  };

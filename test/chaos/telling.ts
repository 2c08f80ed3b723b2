import { MESSAGES_TRANSLATION } from '../../main/gateway/protocols/messages/endpoint.ts';
import { RESPONSES_TRANSLATION } from '../../main/gateway/protocols/responses/endpoint.ts';
import type { ProtocolTranslation } from '../../main/gateway/protocols/translation/translation.ts';
import type { Answer } from './answers.ts';
import type { Draws } from './draws.ts';
import { framed, type Manner } from './manners.ts';
import { MODEL, type Protocol } from './requests.ts';

/** An answer on its way to the gateway. */
export interface Telling {
  /** Unique among all tellings; begins with the upstream. */
  readonly id: string;
  readonly protocol: Protocol;
  /** What is asked for: all of the answer, or what is missing of it. */
  readonly answer: Answer;
  readonly manner: Manner;
  readonly tellsUsage: boolean;
  /** The body of the request; some answers repeat its settings. */
  readonly request: unknown;
}

/** The events of an answer, in parts between which it may break off. */
export interface ToldStream {
  readonly events: readonly string[];
  /** Place of the event with the finish reason. */
  readonly finishAt: number;
}

const CREATED = 1_700_000_000;

/** Null for chat completions, which the others are made of. */
const NATIVE: Readonly<Record<Protocol, ProtocolTranslation | null>> = {
  chat: null,
  messages: MESSAGES_TRANSLATION,
  responses: RESPONSES_TRANSLATION,
};

const headOf = ({ id }: Telling) => ({ id, created: CREATED, model: MODEL });

/** The answer as a stream of the protocol. */
export function toldStream(telling: Telling, draws: Draws): ToldStream {
  const { protocol, manner, tellsUsage, answer } = telling;
  const chunks = chunksOf(telling, draws);
  const usage = { ...chunkOf(telling, null), usage: usageOf(answer) };
  const native = NATIVE[protocol];
  if (native === null) {
    const data = [...chunks, ...(tellsUsage ? [usage] : [])].map((chunk) => JSON.stringify(chunk));
    const events = [...data, '[DONE]'].map((each) => framed(each, manner.frame, draws));
    return { events, finishAt: chunks.length - 1 };
  }
  const stream = native.createStream(exchangeOf(telling));
  const told = [...chunks, usage].map((chunk) => stream.push(chunk));
  const events = [...told, stream.end()].map((text) => text.replaceAll('\n', manner.frame.lineEnd));
  return { events, finishAt: events.length - 1 };
}

/** The answer as one JSON. */
export function toldWhole(telling: Telling): string {
  const completion = completionOf(telling);
  const native = NATIVE[telling.protocol];
  if (native === null) return JSON.stringify(completion);
  const whole = native.answer(completion, exchangeOf(telling));
  if (whole.kind !== 'answer') throw new Error(whole.message);
  return JSON.stringify(whole.body);
}

function exchangeOf({ id, request }: Telling) {
  return { request, id, createdAt: CREATED, model: MODEL, items: null };
}

function completionOf(telling: Telling): object {
  const { answer, manner } = telling;
  const message = {
    role: 'assistant',
    content: answer.text === '' ? null : answer.text,
    ...(answer.reasoning !== '' && reasoningOf(answer.reasoning, manner)),
    ...(answer.calls.length > 0 && {
      tool_calls: answer.calls.map(({ id, ...call }) => ({ id, type: 'function', function: call })),
    }),
  };
  return {
    ...headOf(telling),
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: answer.finish }],
    usage: usageOf(answer),
  };
}

function usageOf({ usage: { input, output } }: Answer): object {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

const reasoningOf = (text: string, { reasoningFields }: Manner) =>
  Object.fromEntries(reasoningFields.map((field) => [field, text]));

/** Without a delta: the chunk that is about the usage. */
function chunkOf(telling: Telling, delta: object | null, finish: string | null = null): object {
  const { protocol, manner } = telling;
  const reason = finish ?? (protocol === 'chat' ? manner.noReason : null);
  return {
    ...headOf(telling),
    object: 'chat.completion.chunk',
    choices: delta === null ? [] : [{ index: 0, delta, finish_reason: reason }],
    ...(manner.namesUsage && telling.tellsUsage && { usage: null }),
  };
}

function chunksOf(telling: Telling, draws: Draws): object[] {
  const { answer, manner } = telling;
  const { role, pieceChars } = manner;
  const cut = (text: string) => piecesOf(text, pieceChars, draws);
  const deltas: object[] = [
    ...cut(answer.reasoning).map((piece) => reasoningOf(piece, manner)),
    ...cut(answer.text).map((piece) => ({ content: piece })),
    ...callPieces(telling, draws).map((piece) => ({ tool_calls: [piece] })),
  ];
  if (role === 'alone') deltas.unshift({ role: 'assistant', content: '' });
  if (role === 'with content') deltas[0] = { role: 'assistant', ...deltas[0] };
  const last = manner.endsTogether ? (deltas.pop() ?? {}) : {};
  return [...deltas.map((delta) => chunkOf(telling, delta)), chunkOf(telling, last, answer.finish)];
}

/** Cut between UTF-16 units, inside a character too, as engines do. */
function piecesOf(text: string, pieceChars: number, draws: Draws): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length;) {
    const piece = text.slice(at, at + 1 + draws.below(2 * pieceChars));
    pieces.push(piece);
    at += piece.length;
  }
  return pieces;
}

/** Each call begins with its name. */
function callPieces({ answer, manner }: Telling, draws: Draws): object[] {
  const calls = answer.calls.map(({ id, name, arguments: json }, index) => {
    const isOnePiece = draws.happens(0.3);
    const begin = { name, arguments: isOnePiece ? json : '' };
    const rest = isOnePiece ? [] : piecesOf(json, manner.pieceChars, draws);
    return [
      { index, id, type: 'function', function: begin },
      ...rest.map((piece) => ({ index, function: { arguments: piece } })),
    ];
  });
  if (manner.mixesCalls === 'not') return calls.flat();
  const together = manner.mixesCalls === 'from names' ? 1 : 2;
  const rest = calls.map((pieces) => pieces.slice(together));
  const rounds = Math.max(0, ...rest.map(({ length }) => length));
  return [
    ...calls.flatMap((pieces) => pieces.slice(0, together)),
    ...Array.from({ length: rounds }, (_, round) => rest.flatMap((pieces) => pieces[round] ?? [])),
  ].flat();
}

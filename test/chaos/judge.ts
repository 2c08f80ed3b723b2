import { isUtf8 } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import { parseJson } from '../../main/platform/json.ts';
import { type Answer, answerOf } from './answers.ts';
import { createChatReader, hearCompletion } from './chat-reader.ts';
import { asObject, asText, eventsIn, type Json, objectIn } from './events.ts';
import type { Heard, HeardCall, Reader } from './heard.ts';
import { createMessagesReader, hearMessage } from './messages-reader.ts';
import type { ChaosRequest, Protocol } from './requests.ts';
import { createResponsesReader, hearResponse } from './responses-reader.ts';
import type { PlayedCall } from './upstreams.ts';

/** What a caller got. */
export interface Received {
  /** Null: no response began. */
  readonly head: {
    readonly status: number;
    readonly headers: Readonly<Record<string, unknown>>;
  } | null;
  readonly body: Buffer;
  /**
   * `ended`: as HTTP ends a response; `closed`: the connection broke; `left`: the caller broke it; `stuck`: the same,
   * because it did not end.
   */
  readonly end: 'ended' | 'closed' | 'left' | 'stuck';
}

/** The kinds of end of a request. */
export const ENDS = [
  'answered',
  'fell back',
  'resumed',
  'broken off',
  'refused',
  'aborted',
] as const;
export type End = (typeof ENDS)[number];

export interface Verdict {
  readonly end: End;
  /** Empty if all was right. */
  readonly findings: readonly string[];
}

export const READERS: Readonly<Record<Protocol, () => Reader>> = {
  chat: createChatReader,
  messages: createMessagesReader,
  responses: createResponsesReader,
};
export const HEARERS: Readonly<Record<Protocol, (body: Json) => Heard>> = {
  chat: hearCompletion,
  messages: hearMessage,
  responses: hearResponse,
};

/** Judges what a caller got by the right answer, and by what the upstreams were asked and sent. */
export function judge(
  request: ChaosRequest,
  received: Received,
  calls: readonly PlayedCall[],
): Verdict {
  const wrong = calls.flatMap(({ upstream, wrong: why }) =>
    why === null ? [] : [`${upstream} was ${why}`],
  );
  const { end, findings } = judgeResponse(request, received, calls);
  const isServed = calls.length > 0 && calls.every(({ script }) => script.isRight);
  const isLost = isServed && (end === 'broken off' || end === 'refused');
  const lost = isLost ? ['every upstream that was asked gave the right answer'] : [];
  return { end, findings: [...wrong, ...findings, ...lost] };
}

function judgeResponse(
  request: ChaosRequest,
  received: Received,
  calls: readonly PlayedCall[],
): Verdict {
  const { head, end } = received;
  if (end === 'left' && (head === null || head.status !== 200 || !request.isStream))
    return { end: 'aborted', findings: [] };
  if (end === 'stuck') return { end: 'broken off', findings: ['it did not end'] };
  if (head === null) return { end: 'broken off', findings: ['no response'] };
  if (end === 'closed')
    return { end: 'broken off', findings: ['the connection was closed without a word'] };
  if (head.status !== 200)
    return { end: 'refused', findings: refusalFaults(request, received, head.status) };
  const right = answerOf(request);
  const mayLackUsage = calls.some(({ script }) => script.mayLackUsage) || isLeftOut(calls.at(-1));
  if (!request.isStream) {
    const body = objectIn(received.body.toString());
    if (body === null) return { end: 'broken off', findings: ['no JSON'] };
    const heard = HEARERS[request.protocol](body);
    const findings = wholeFaults(heard, right, { request, mayLackUsage, isResumed: false });
    return { end: endOf(received, false), findings };
  }
  return judgeStream(request, received, { right, mayLackUsage });
}

/** The gateway does not ask an upstream for it that fell silent before it ever told it. */
function isLeftOut(last: PlayedCall | undefined): boolean {
  if (last?.asked.protocol !== 'chat') return false;
  const { stream, stream_options: options } = last.asked.body;
  return stream === true && options === undefined;
}

function judgeStream(
  request: ChaosRequest,
  received: Received,
  { right, mayLackUsage }: { readonly right: Answer; readonly mayLackUsage: boolean },
): Verdict {
  // A caller that leaves may have half a character.
  const text = new TextDecoder().decode(received.body, { stream: received.end === 'left' });
  const { events, rest } = eventsIn(text);
  const reader = READERS[request.protocol]();
  for (const { name, data } of events) reader.event(name, data);
  const heard = reader.heard();
  const isResumed = /^: carried on by /m.test(text);
  if (received.end === 'left') return { end: 'aborted', findings: beginningFaults(heard, right) };
  const type = asText(received.head?.headers['content-type']);
  const faults = [
    ...(type.startsWith('text/event-stream') ? [] : [`a stream as ${type}`]),
    ...(isUtf8(received.body) ? [] : ['half a character']),
    ...(rest === '' ? [] : [`half an event at the end: ${rest}`]),
  ];
  switch (heard.end) {
    case 'whole': {
      const findings = wholeFaults(heard, right, { request, mayLackUsage, isResumed });
      return { end: endOf(received, isResumed), findings: [...faults, ...findings] };
    }
    case 'broken':
      return { end: 'broken off', findings: [...faults, ...beginningFaults(heard, right)] };
    case 'open':
      return {
        end: 'broken off',
        findings: [...faults, 'it ends without saying how', ...beginningFaults(heard, right)],
      };
  }
}

function endOf({ head }: Received, isResumed: boolean): End {
  if (isResumed) return 'resumed';
  return head?.headers['x-gateway-fallback-reason'] === 'none' ? 'answered' : 'fell back';
}

/** No upstream refuses for a fault of the request, so that only the gateway's own words are right. */
const REFUSALS: readonly number[] = [429, 502, 503, 504];

function refusalFaults({ protocol }: ChaosRequest, { body }: Received, status: number): string[] {
  const error = objectIn(body.toString()) ?? {};
  const isShaped = protocol !== 'messages' || error['type'] === 'error';
  const { message } = asObject(error['error']);
  return [
    ...(REFUSALS.includes(status) ? [] : [`it was refused with ${status}`]),
    ...(isShaped && asText(message) !== '' && error['src'] === 'gateway'
      ? []
      : [`no error of the gateway: ${body.toString()}`]),
  ];
}

interface Circumstances {
  readonly request: ChaosRequest;
  readonly mayLackUsage: boolean;
  readonly isResumed: boolean;
}

/** Why this is not the right answer. */
function wholeFaults(heard: Heard, right: Answer, circumstances: Circumstances): string[] {
  const { reasoning, text, calls, finish, faults } = heard;
  const callsOf = (all: readonly HeardCall[]) =>
    all.map(({ id, name, arguments: json }) => ({ id, name, arguments: parseJson(json) }));
  return [
    ...faults,
    ...(heard.end === 'whole' ? [] : ['it is not whole']),
    ...difference('the reasoning', reasoning, right.reasoning),
    ...difference('the text', text, right.text),
    ...(isDeepStrictEqual(callsOf(calls), callsOf(right.calls))
      ? []
      : [`the calls are ${JSON.stringify(calls)}`]),
    ...(finish === right.finish ? [] : [`it ended with ${finish} in place of ${right.finish}`]),
    ...usageFaults(heard, right, circumstances),
  ];
}

function usageFaults(
  { usages }: Heard,
  { usage }: Answer,
  { request, mayLackUsage, isResumed }: Circumstances,
): string[] {
  const isAsked = request.protocol !== 'chat' || !request.isStream || request.asksForUsage;
  const told = usages.filter((each) => each !== null);
  const count = isAsked ? 1 : 0;
  if (told.length > count) return [`the usage came ${told.length} times`];
  if (mayLackUsage || !isAsked) return [];
  // What was sent before is estimated.
  if (isResumed) return told.length === 1 ? [] : ['no usage'];
  return isDeepStrictEqual(told, [usage]) ? [] : [`the usage is ${JSON.stringify(usages)}`];
}

/** Why this is not the beginning of the right answer. */
function beginningFaults(heard: Heard, right: Answer): string[] {
  const { reasoning, text, calls, finish, faults } = heard;
  const callsBegun = calls.every(({ id, name, arguments: json }, at) => {
    const call = right.calls[at];
    return call?.id === id && call.name === name && call.arguments.startsWith(json);
  });
  const isPastReasoning = text !== '' || calls.length > 0 || finish !== null;
  const isPastText = calls.length > 0 || finish !== null;
  const isPastCalls = finish !== null;
  return [
    ...faults,
    ...beginning('the reasoning', reasoning, right.reasoning, isPastReasoning),
    ...beginning('the text', text, right.text, isPastText),
    ...(callsBegun && (!isPastCalls || calls.length === right.calls.length)
      ? []
      : [`the calls are ${JSON.stringify(calls)}`]),
  ];
}

function beginning(what: string, is: string, right: string, isAll: boolean): string[] {
  return difference(what, is, isAll ? right : right.slice(0, is.length));
}

function difference(what: string, is: string, right: string): string[] {
  if (is === right) return [];
  let at = 0;
  while (at < is.length && is[at] === right[at]) at += 1;
  const near = (text: string) => JSON.stringify(text.slice(Math.max(0, at - 30), at + 30));
  return [`${what} differs at ${at}: ${near(is)} in place of ${near(right)}`];
}

import { type Answer, answerOf } from './answers.ts';
import { type Draws, drawsFor } from './draws.ts';
import {
  emptyBody,
  type Fault,
  isEventFault,
  PAGE_IN_PLACE,
  rateLimit,
  type Refusal,
  serverError,
} from './faults.ts';
import { framed, mannerOf, type Manner } from './manners.ts';
import { paced, type Piece } from './pacing.ts';
import type { ChaosRequest, Protocol } from './requests.ts';
import { type Telling, type ToldStream, toldStream, toldWhole } from './telling.ts';

/** What an upstream is asked in one call. */
export interface Asked {
  readonly upstream: string;
  readonly request: ChaosRequest;
  /** How many calls of the request it had before. */
  readonly call: number;
  readonly protocol: Protocol;
  readonly body: Readonly<Record<string, unknown>>;
  /** The partial answer to be continued; null: none. */
  readonly partial: string | null;
}

/** All that it sends, and when. */
export interface Script {
  /** In words, for reports. */
  readonly name: string;
  /** Null: nothing is sent. */
  readonly head: Head | null;
  readonly pieces: readonly Piece[];
  readonly end: End;
  /** All of what was asked for comes, and in time. */
  readonly isRight: boolean;
  /** The finish reason comes, and what should follow it does not. */
  readonly mayLackUsage: boolean;
}

interface Head extends Pick<Refusal, 'status' | 'headers'> {
  /** The end of the connection is that of the body. */
  readonly isClosing: boolean;
}

/** `close`: the connection is closed before the body has ended. */
type End = 'end' | 'close' | 'reset' | 'silence';

/** Beside what is given. */
const SENT: Omit<Script, 'name'> = {
  head: null,
  pieces: [],
  end: 'end',
  isRight: false,
  mayLackUsage: false,
};

/** An engine that accepts no partial answer says so once in a while, as it is not asked again for an hour. */
const REFUSES_PARTIAL: Refusal = {
  status: 400,
  headers: { 'content-type': 'application/json' },
  body: '{"error":{"message":"Assistant prefill is not supported."}}',
};

export function scriptOf(asked: Asked, given: Fault): Script {
  const fault = suited(given, asked.protocol);
  const { seed, n } = asked.request;
  const draws = drawsFor(seed, n, asked.upstream, asked.call, 'script');
  const isStream = asked.body['stream'] === true;
  if (asked.partial !== null && draws.happens(0.02))
    return refused('refuses to continue', REFUSES_PARTIAL, draws);
  switch (fault) {
    case 'reset':
    case 'hang':
      return { ...SENT, name: fault, end: fault === 'hang' ? 'silence' : broken(draws) };
    case 'reset_after_head':
    case 'hang_after_head': {
      const end = fault === 'hang_after_head' ? 'silence' : broken(draws);
      return { ...SENT, name: fault, head: headOf(isStream, mannerOf(draws)), end };
    }
    case 'server_error':
      return refused(fault, serverError(draws), draws);
    case 'rate_limit':
      return refused(fault, rateLimit(draws), draws);
    case 'page':
      return refused(fault, PAGE_IN_PLACE, draws);
    case 'empty': {
      const bytes = Buffer.from(emptyBody(isStream, draws));
      const head = headOf(isStream, mannerOf(draws));
      return { ...SENT, name: fault, head, pieces: paced(bytes, draws) };
    }
    default:
      return told(asked, fault, draws);
  }
}

/** Each protocol has an end of its own. */
function suited(fault: Fault, protocol: Protocol): Fault {
  const isChat = protocol === 'chat';
  if (fault === 'done_without_finish') return isChat ? fault : 'clean_end';
  return fault === 'native_done' && isChat ? 'clean_end' : fault;
}

function refused(name: string, { status, headers, body }: Refusal, draws: Draws): Script {
  const pieces = paced(Buffer.from(body), draws);
  const head = { status, headers, isClosing: false };
  return { ...SENT, name: `${name} ${status}`, head, pieces };
}

const broken = (draws: Draws) => draws.pick<End>(['close', 'reset']);

function headOf(isStream: boolean, { contentType, isClosing }: Manner): Head {
  const type = isStream ? contentType : 'application/json';
  return { status: 200, headers: type === '' ? {} : { 'content-type': type }, isClosing };
}

/** An answer, or the beginning of one. */
function told(asked: Asked, fault: Fault, draws: Draws): Script {
  const { upstream, request, call, protocol, body } = asked;
  const manner = mannerWith(fault, protocol, mannerOf(draws));
  const telling: Telling = {
    id: `${upstream}-${request.seed}-${request.n}-${call}`,
    protocol,
    answer: missingOf(asked, draws),
    manner,
    tellsUsage: isObject(body['stream_options']),
    request: body,
  };
  // JSON in place of a stream, or a stream in place of JSON.
  const isOther = draws.happens(0.04);
  const isStream = (body['stream'] === true) !== isOther || isEventFault(fault);
  if (!isStream) return toldAtOnce(telling, asked, fault, draws);
  return toldInEvents(telling, asked, fault, draws);
}

function mannerWith(fault: Fault, protocol: Protocol, manner: Manner): Manner {
  // Messages and responses are told one call after the other.
  if (protocol !== 'chat') return { ...manner, mixesCalls: 'not' };
  switch (fault) {
    case 'reason_empty':
      return { ...manner, noReason: '' };
    case 'reason_null':
      return { ...manner, noReason: 'null' };
    case 'calls_begin_together':
      return { ...manner, mixesCalls: 'from names' };
    default:
      return manner;
  }
}

/** The part of the right answer that is asked for. */
function missingOf({ request, partial }: Asked, draws: Draws): Answer {
  const answer = answerOf(request);
  if (partial === null) return answer;
  // Some engines think again before they go on.
  const reasoning = draws.happens(0.2) ? answer.reasoning : '';
  return { ...answer, reasoning, text: answer.text.slice(partial.length) };
}

const ERROR = '{"error":{"message":"out of memory","type":"server_error","code":500}}';

function toldAtOnce(
  telling: Telling,
  { partial, body }: Asked,
  fault: Fault,
  draws: Draws,
): Script {
  const { answer } = telling;
  // As llama.cpp does, whose streams do not.
  const echo = partial !== null && draws.happens(0.3) ? partial : '';
  const whole = toldWhole({ ...telling, answer: { ...answer, text: echo + answer.text } });
  const bytes = Buffer.from(fault === 'error_event' ? ERROR : whole);
  const { length } = bytes;
  const { sent, end } = brokenOff({ length, finishedBytes: length }, fault, draws);
  // Only a chat completion is taken as JSON in place of a stream, and none with an echo.
  const isTaken = telling.protocol === 'chat' || body['stream'] !== true;
  return {
    ...SENT,
    name: `${fault} as JSON, ${sent} of ${length} bytes`,
    head: headOf(false, telling.manner),
    pieces: paced(bytes.subarray(0, sent), draws),
    end,
    isRight: sent === length && fault !== 'error_event' && isTaken && echo === '',
  };
}

function toldInEvents(telling: Telling, asked: Asked, fault: Fault, draws: Draws): Script {
  const { events, finishAt } = toldStream(telling, draws);
  const echo = echoOf(telling, asked, draws);
  const stream = { events: [...echo, ...events], finishAt: echo.length + finishAt };
  const head = headOf(true, telling.manner);
  if (fault === 'error_event') {
    const last = errorEvent(telling, draws);
    return { ...brokenOffBy(last, stream, fault, draws), head };
  }
  if (fault === 'done_without_finish' || fault === 'native_done')
    return { ...brokenOffBy(DONE, stream, fault, draws), head };
  const { mayLackUsage, ...script } = brokenOffAnywhere(stream, fault, draws);
  // Nobody asks a stream for it where none was asked for.
  return { ...script, head, mayLackUsage: mayLackUsage || asked.body['stream'] !== true };
}

/** Ends with this event before the finish reason has come. */
function brokenOffBy(
  last: string,
  { events, finishAt }: ToldStream,
  fault: Fault,
  draws: Draws,
): Script {
  const count = draws.below(finishAt + 1);
  const bytes = Buffer.from(events.slice(0, count).join('') + last);
  const end = draws.pick<End>(['end', 'silence']);
  const name = `${fault} after ${count} of ${events.length} events`;
  return { ...SENT, name, pieces: paced(bytes, draws), end };
}

/** Whole where there is no fault. */
function brokenOffAnywhere({ events, finishAt }: ToldStream, fault: Fault, draws: Draws): Script {
  const bytes = Buffer.from(events.join(''));
  const { length } = bytes;
  const finishedBytes = Buffer.byteLength(events.slice(0, finishAt + 1).join(''));
  const { sent, end } = brokenOff({ length, finishedBytes }, fault, draws);
  const isRight = sent === length;
  return {
    ...SENT,
    name: isRight ? fault : `${fault} after ${sent} of ${length} bytes`,
    pieces: paced(bytes.subarray(0, sent), draws),
    end,
    isRight,
    // Of the last event the blank line may be missing.
    mayLackUsage: !isRight && sent >= finishedBytes - 4,
  };
}

const DONE = 'data: [DONE]\n\n';
/** Shorter echoes are left out: the gateway cannot tell them from a token that occurs twice. */
const MIN_ECHO_CHARS = 16;

/** Engines that were not asked by the flag may say the partial answer again, in one piece. */
function echoOf({ id, manner }: Telling, { partial, body }: Asked, draws: Draws): string[] {
  const isFlagged = body['continue_final_message'] === true;
  if (partial === null || isFlagged || partial.length < MIN_ECHO_CHARS || !draws.happens(0.5))
    return [];
  const choices = [{ index: 0, delta: { content: partial }, finish_reason: null }];
  return [framed(JSON.stringify({ id, choices }), manner.frame, draws)];
}

/** How many bytes are sent, and what follows; now and then it is the finish reason's event that lacks its end. */
function brokenOff(
  { length, finishedBytes }: { readonly length: number; readonly finishedBytes: number },
  fault: Fault,
  draws: Draws,
): { readonly sent: number; readonly end: End } {
  const isLate = draws.happens(0.1);
  const sent = isLate ? Math.max(0, finishedBytes - draws.below(6)) : draws.below(length);
  switch (fault) {
    case 'cut':
      return { sent, end: broken(draws) };
    case 'clean_end':
      return { sent, end: 'end' };
    case 'silence':
      return { sent, end: 'silence' };
    case 'reason_empty':
    case 'reason_null':
      // The field alone is no fault.
      if (draws.happens(0.3)) return { sent: length, end: 'end' };
      return { sent, end: draws.pick(['close', 'end', 'silence']) };
    default:
      return { sent: length, end: 'end' };
  }
}

/** As OpenAI, LM Studio (with a name), vLLM (with `[DONE]` behind it) and Anthropic report one. */
function errorEvent({ protocol, manner }: Telling, draws: Draws): string {
  const error = { type: 'overloaded_error', message: 'Overloaded' };
  const ofAnthropic = `event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`;
  switch (protocol) {
    case 'chat': {
      const event = framed(ERROR, manner.frame, draws);
      return draws.pick([event, `event: error\n${event}`, event + DONE, ofAnthropic]);
    }
    case 'messages':
      return ofAnthropic;
    case 'responses': {
      const response = { id: 'resp_1', object: 'response', status: 'failed', error, output: [] };
      const event = { type: 'response.failed', sequence_number: 1, response };
      return `event: response.failed\ndata: ${JSON.stringify(event)}\n\n`;
    }
  }
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

import { isObject, listOf, memberOf, parseExactJson, parseJson } from '../../../platform/json.ts';
import type { ChatRequest } from '../chat-request.ts';
import { callsIn, newCallId } from '../chat/calls.ts';
import { CHAT_COMPLETIONS } from '../chat/endpoint.ts';
import { smallValuesOf } from '../json-edit.ts';
import { dataOf, eventsOf, eventWith, type Frames, framesOf } from '../sse.ts';
import type { LeakedCall } from './dialects.ts';
import type { Json } from '../translation/findings.ts';
import { type OfferedTools, offeredIn } from './offered.ts';
import { LeakGate } from './leak-gate.ts';

/** Makes calls of those that a model wrote into the text of its answer and its engine did not read. */
export interface Rescue {
  readonly whole: (answer: Buffer) => { readonly body: Buffer; readonly calls: number };
  /** Of the events of a stream, in turn. */
  readonly inStream: (onCalls: (calls: number) => void) => (frames: Frames) => Frames;
}

/** Null for a request that offers no tool, or whose answer is to be JSON. */
export function rescueFor(request: ChatRequest): Rescue | null {
  const { endpoint, bytes, members, choices, needs } = request;
  if (endpoint !== CHAT_COMPLETIONS || choices !== 1 || !needs().tools) return null;
  const [choice, format] = smallValuesOf(bytes, members, ['tool_choice', 'response_format']);
  const isText = (format ?? null) === null || memberOf(format, 'type') === 'text';
  if (choice === 'none' || !isText) return null;
  let known: OfferedTools | null = null;
  const offered = () => (known ??= offeredIn(request));
  return {
    whole: (answer) => rescuedAnswer(answer, new LeakGate(offered)),
    inStream(onCalls) {
      const gate = new LeakGate(offered);
      return (frames) =>
        framesOf(eventsOf(frames).flatMap((event) => rescuedEvent(event, gate, onCalls)));
    },
  };
}

const asCall = ({ name, arguments: args }: LeakedCall) => ({
  id: newCallId(),
  type: 'function',
  function: { name, arguments: JSON.stringify(args) },
});

const textOf = (content: unknown): string => (typeof content === 'string' ? content : '');

function rescuedAnswer(body: Buffer, gate: LeakGate): ReturnType<Rescue['whole']> {
  const answer = parseExactJson(body.toString('utf8'));
  const [choice] = listOf(memberOf(answer, 'choices'));
  const message = memberOf(choice, 'message');
  if (!isObject(answer) || !isObject(choice) || !isObject(message)) return { body, calls: 0 };
  const { text, calls } = gated(gate, message, choice['finish_reason']);
  if (calls.length === 0) return { body, calls: 0 };
  const content = text.trim() === '' ? null : text;
  const called = { ...message, content, tool_calls: calls.map(asCall) };
  const choices = [{ ...choice, message: called, finish_reason: 'tool_calls' }];
  return { body: Buffer.from(JSON.stringify({ ...answer, choices })), calls: calls.length };
}

/** In place of an event that is held: a call may take minutes, and clients give up in silence. */
const HELD = Buffer.from(':\n\n');

/** The event itself if nothing of it is held back. */
function rescuedEvent(event: Buffer, gate: LeakGate, onCalls: (calls: number) => void): Buffer[] {
  const chunk = parseJson(dataOf(event) ?? '');
  const [choice] = listOf(memberOf(chunk, 'choices'));
  const delta = memberOf(choice, 'delta');
  if (!isObject(chunk) || !isObject(choice) || !isObject(delta)) return [event];
  const { content, ...others } = delta;
  const { finish_reason: finish = null } = choice;
  const { text, calls } = gated(gate, delta, finish);
  if (text === textOf(content) && calls.length === 0) return [event];
  const written = (said: Json, reason: unknown) => {
    const choices = [{ ...choice, delta: said, finish_reason: reason }];
    return eventWith(event, JSON.stringify({ ...chunk, choices }));
  };
  const said = { ...others, ...(text !== '' && { content: text }) };
  if (calls.length === 0)
    return finish === null && Object.keys(said).length === 0 ? [HELD] : [written(said, finish)];
  onCalls(calls.length);
  const tool_calls = calls.map((call, index) => ({ index, ...asCall(call) }));
  return [written({ ...said, tool_calls }, null), written({}, 'tool_calls')];
}

/** What may be passed on. An answer that was cut off, or filtered, has no call that its model meant. */
function gated(gate: LeakGate, { content, tool_calls: known }: Json, finish: unknown) {
  const said = textOf(content);
  const isOver = (finish ?? null) !== null;
  const isText =
    callsIn(known).length > 0 || (isOver && finish !== 'stop' && finish !== 'tool_calls');
  if (isText) return { text: gate.release() + said, calls: [] };
  return isOver ? gate.end(said) : { text: gate.push(said), calls: [] };
}

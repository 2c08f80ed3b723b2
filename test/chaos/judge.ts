import { isUtf8 } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import { parseJson } from '../../main/platform/json.ts';
import { asText, eventsIn, objectIn } from '../support/readers/events.ts';
import type { Heard } from '../support/readers/heard.ts';
import { HEARERS, READERS } from '../support/readers/readers.ts';
import { type Answer, answerOf } from './answers.ts';
import type { Received } from './caller.ts';
import type { ChaosRequest } from './requests.ts';
import type { PlayedCall } from './upstreams.ts';

export type End = 'answered' | 'fell back' | 'resumed' | 'broken off' | 'refused' | 'aborted';

export interface Verdict {
  readonly end: End;
  /** Empty if all was right. */
  readonly findings: readonly string[];
}

/** Holds what a caller got against the right answer, and against what the upstreams were asked and sent. */
export function judge(
  request: ChaosRequest,
  received: Received,
  calls: readonly PlayedCall[],
): Verdict {
  const { end, findings } = judgeEnd(request, received, calls);
  const wrong = calls.flatMap(({ wrong: why }) => (why === null ? [] : [`an upstream was ${why}`]));
  const isServed = calls.length > 0 && calls.every(({ script }) => script.isRight);
  const isLost = isServed && (end === 'broken off' || end === 'refused');
  const lost = isLost ? ['every upstream that was asked gave the right answer'] : [];
  return { end, findings: [...wrong, ...findings, ...lost] };
}

function judgeEnd(
  request: ChaosRequest,
  received: Received,
  calls: readonly PlayedCall[],
): Verdict {
  const { head, end, body } = received;
  if (end === 'left' && (head?.status !== 200 || !request.isStream))
    return { end: 'aborted', findings: [] };
  if (end === 'stuck' || end === 'closed' || head === null)
    return { end: 'broken off', findings: [`it was ${end}`] };
  if (head.status !== 200)
    return { end: 'refused', findings: refusalFaults(body.toString(), head.status) };
  const isFirst = head.headers['x-gateway-fallback-reason'] === 'none';
  // The usage comes last: an answer that broke off behind its finish reason lacks it, and a resumed one estimates it.
  const isResumed = /^: carried on by /m.test(body.toString());
  const mayLack = isResumed || calls.some(({ script }) => !script.isRight);
  const kind = isResumed ? 'resumed' : isFirst ? 'answered' : 'fell back';
  const right = answerOf(request);
  if (request.isStream) return judgeStream(request, received, { kind, right, mayLack });
  const heard = HEARERS[request.protocol](objectIn(body.toString()) ?? {});
  return { end: kind, findings: wholeFaults(heard, right, mayLack) };
}

interface Expectation {
  readonly kind: End;
  readonly right: Answer;
  readonly mayLack: boolean;
}

function judgeStream(
  { protocol }: ChaosRequest,
  { head, body, end }: Received,
  { kind, right, mayLack }: Expectation,
): Verdict {
  // A caller that leaves may have half a character.
  const { events, rest } = eventsIn(new TextDecoder().decode(body, { stream: end === 'left' }));
  const reader = READERS[protocol]();
  for (const { name, data } of events) reader.event(name, data);
  const heard = reader.heard();
  if (end === 'left') return { end: 'aborted', findings: beginningFaults(heard, right) };
  const isStream = asText(head?.headers['content-type']).startsWith('text/event-stream');
  const faults = [
    ...(isStream && isUtf8(body) && rest === '' ? [] : [`no whole stream: ${rest}`]),
    ...(heard.end === 'open' ? ['it ends without saying how'] : []),
  ];
  return heard.end === 'whole'
    ? { end: kind, findings: [...faults, ...wholeFaults(heard, right, mayLack)] }
    : { end: 'broken off', findings: [...faults, ...beginningFaults(heard, right)] };
}

/** The gateway's own refusals: no upstream refuses a request for a fault of its own. */
const REFUSALS: readonly number[] = [429, 502, 503, 504];

function refusalFaults(body: string, status: number): string[] {
  const isOurs = REFUSALS.includes(status) && objectIn(body)?.['src'] === 'gateway';
  return isOurs ? [] : [`it was refused with ${status}: ${body}`];
}

const parsed = (calls: Heard['calls']) =>
  calls.map(({ id, name, arguments: json }) => ({ id, name, arguments: parseJson(json) }));

/** Why this is not the right answer. */
function wholeFaults(heard: Heard, right: Answer, mayLackUsage: boolean): string[] {
  const { reasoning, text, calls, finish, faults, usages } = heard;
  return [
    ...faults,
    ...difference('reasoning', reasoning, right.reasoning),
    ...difference('text', text, right.text),
    ...(isDeepStrictEqual(parsed(calls), parsed(right.calls))
      ? []
      : [`the calls are ${JSON.stringify(calls)}`]),
    ...(finish === right.finish ? [] : [`it ended with ${finish} in place of ${right.finish}`]),
    ...((mayLackUsage && usages.length < 2) || isDeepStrictEqual(usages, [right.usage])
      ? []
      : [`the usage is ${JSON.stringify(usages)}`]),
  ];
}

/** Why this is not the beginning of the right answer. */
function beginningFaults({ reasoning, text, calls, faults }: Heard, right: Answer): string[] {
  const isPastReasoning = text !== '' || calls.length > 0;
  const begun = calls.every(({ id, name, arguments: json }, at) => {
    const call = right.calls[at];
    return call?.id === id && call.name === name && call.arguments.startsWith(json);
  });
  return [
    ...faults,
    ...difference('reasoning', reasoning, right.reasoning, !isPastReasoning),
    ...difference('text', text, right.text, calls.length === 0),
    ...(begun ? [] : [`the calls are ${JSON.stringify(calls)}`]),
  ];
}

function difference(what: string, is: string, right: string, isBeginning = false): string[] {
  if (isBeginning ? right.startsWith(is) : is === right) return [];
  return [`the ${what} is ${is} in place of ${right}`];
}

import { isObject, parseJson } from '../../../platform/json.ts';
import { createFramer, dataOf, eventsOf, eventWith } from '../sse.ts';
import { responseObject } from './answers.ts';

/** The first two events of a stream, then the second one again: Codex counts events, and no comments. */
export function responseSign(
  n: number,
  { id, model }: { readonly id: string; readonly model: string },
): string {
  const exchange = { id, model, createdAt: 0, request: null, items: null };
  const state = { model, output: [], usage: null };
  const response = responseObject(exchange, { status: 'in_progress' }, state);
  const eventOf = (type: string, sequence_number: number) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, response })}\n\n`;
  const first = n === 0 ? eventOf('response.created', 0) : '';
  return first + eventOf('response.in_progress', n + 1);
}

const BEGUN = new Set(['response.created', 'response.queued', 'response.in_progress']);
const ENDED = new Set(['response.completed', 'response.incomplete', 'response.failed']);

/** One response has one beginning, and one id: OpenAI's client throws if that changes (openai 6). */
export function afterResponseSigns(events: Buffer, id: string): Buffer {
  const frames = createFramer().push(events);
  if (frames === null || ![...BEGUN, ...ENDED].some((type) => events.includes(type))) return events;
  return Buffer.concat(eventsOf(frames).flatMap((event) => renamed(event, id) ?? []));
}

function renamed(event: Buffer, id: string): Buffer | null {
  const value = parseJson(dataOf(event) ?? '');
  if (!isObject(value)) return event;
  const { type, response } = value;
  if (BEGUN.has(String(type))) return null;
  if (!ENDED.has(String(type)) || !isObject(response)) return event;
  return eventWith(
    event,
    JSON.stringify({ ...value, response: { ...response, id: `resp_${id}` } }),
  );
}

import { Agent } from 'node:http';
import { parseJson } from '../../main/platform/json.ts';
import { asObject, asText, eventsIn, type Json, objectIn } from '../support/readers/events.ts';
import { type Heard, newDraft } from '../support/readers/heard.ts';
import { HEARERS, PATHS, READERS } from '../support/readers/readers.ts';
import { startCall } from '../support/client.ts';

export const PROTOCOLS = ['chat', 'messages', 'responses'] as const;
/** Chat completions, Anthropic's Messages, OpenAI's Responses. */
export type Protocol = (typeof PROTOCOLS)[number];

/** Each case in each protocol. */
export const inEach = <Case>(cases: readonly Case[]) =>
  PROTOCOLS.flatMap((protocol) => cases.map((each) => ({ ...each, protocol })));

const HI = { role: 'user', content: 'hi' };
const CITY = '{"city":"Oslo"}';

export const QUESTIONS = {
  chat: { model: 'm', messages: [HI] },
  messages: { model: 'm', max_tokens: 100, messages: [HI] },
  responses: { model: 'm', input: [HI] },
} as const;

/** The same, with a tool's result as the last word. */
const AFTER_A_TOOL = {
  chat: {
    model: 'm',
    messages: [
      HI,
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'call_9', type: 'function', function: { name: 'weather', arguments: CITY } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_9', content: 'rain' },
    ],
  },
  messages: {
    model: 'm',
    max_tokens: 100,
    messages: [
      HI,
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'call_9', name: 'weather', input: { city: 'Oslo' } }],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_9', content: 'rain' }] },
    ],
  },
  responses: {
    model: 'm',
    input: [
      HI,
      { type: 'function_call', call_id: 'call_9', name: 'weather', arguments: CITY },
      { type: 'function_call_output', call_id: 'call_9', output: 'rain' },
    ],
  },
} as const;

/** Each case in one of the protocols, in turn. */
export const inTurn = <Case>(cases: readonly Case[]) =>
  cases.map((each, n) => ({ ...each, protocol: protocolOf(n) }));

/** They take turns. */
export const protocolOf = (n: number): Protocol => PROTOCOLS[n % PROTOCOLS.length] ?? 'chat';

/** What a caller asks. */
export interface Question {
  readonly protocol: Protocol;
  readonly isStream: boolean;
  readonly isAfterTool?: boolean;
  readonly more?: Json;
}

/** What came of it. */
export interface View extends Heard {
  readonly status: number;
  readonly upstream: string;
  readonly reason: string;
  /** Of an error, or of the error that ends a stream. */
  readonly error: Json;
}

/** As clients keep them: a new one for each request costs as much as the request. */
const CONNECTIONS = new Agent({ keepAlive: true });

/** Asks, and reads the answer as a client of the protocol does. */
export async function ask(url: string, question: Question): Promise<View> {
  const { protocol, isStream, isAfterTool = false, more = {} } = question;
  const body = {
    ...(isAfterTool ? AFTER_A_TOOL : QUESTIONS)[protocol],
    ...(isStream ? { stream: true } : {}),
    ...(isStream && protocol === 'chat' ? { stream_options: { include_usage: true } } : {}),
    ...more,
  };
  const { status, upstream, reason, text } = await startCall(
    url + PATHS[protocol],
    body,
    {},
    CONNECTIONS,
  ).answer;
  const seen = { status, upstream, reason };
  if (status !== 200) return { ...newDraft(), ...seen, error: errorIn(parseJson(text)) };
  if (!isStream) return { ...HEARERS[protocol](objectIn(text) ?? {}), ...seen, error: {} };
  const { events, rest } = eventsIn(text);
  const reader = READERS[protocol]();
  for (const { name, data } of events) reader.event(name, data);
  const { faults, ...heard } = reader.heard();
  const last = events.map(({ data }) => errorIn(objectIn(data))).findLast(isFilled);
  const cut = rest === '' ? [] : [`half an event: ${rest}`];
  const wrong = faults.filter((fault) => !HARMLESS.test(fault));
  return { ...heard, faults: [...wrong, ...cut], ...seen, error: last ?? {} };
}

/** Chat completions come as they were sent: clients take role and identity from the first chunk that has them. */
const HARMLESS = /^\d+ roles$|^several of (id|model): /;

const isFilled = (value: Json) => Object.keys(value).length > 0;

/** In Responses the event itself is the error. */
function errorIn(value: unknown): Json {
  const body = asObject(value);
  return asText(body['type']) === 'error' && body['error'] === undefined
    ? body
    : asObject(body['error']);
}

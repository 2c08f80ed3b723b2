import { expect, test } from 'vitest';
import { SAID } from '../support/chat-answers.ts';
import { json, type Script, sse } from '../support/upstream.ts';
import { AGENTS, type Path } from './agents.ts';
import { startBetween } from './between.ts';
import { ask, type Protocol } from './caller.ts';
import { google, openAi } from './refused.ts';
import { MESSAGE_START, messageEnd, responseEvents, saying, textBlock } from './speech.ts';
import type { Json, System } from './system.ts';

interface Host {
  readonly place?: System['place'];
  readonly status?: number;
  /** Paths of what it does not take, without places in lists. */
  readonly refuses: readonly string[];
  readonly says: (paths: readonly string[]) => Json | readonly Json[];
}

const pydantic = (paths: readonly string[]): Json => ({
  detail: paths.map((path) => ({
    type: 'extra_forbidden',
    loc: ['body', ...path.split('.')],
    msg: 'Extra inputs are not permitted',
  })),
});
const NEW = ['store', 'prompt_cache_key', 'service_tier', 'verbosity', 'user', 'safety_identifier'];
const IN_TURNS = [
  'messages.reasoning_content',
  'messages.annotations',
  'messages.tool_calls.index',
];
const one =
  (words: (path: string) => string) =>
  ([path = '']: readonly string[]) =>
    openAi(words(path), null);

const HOSTS: Readonly<Record<string, Host>> = {
  OpenAI: {
    refuses: ['max_tokens', 'temperature', 'top_p', ...IN_TURNS],
    says: one((path) => `Unsupported parameter: '${path}' is not supported with this model.`),
  },
  Azure: {
    refuses: [...NEW, 'reasoning_effort', 'parallel_tool_calls', 'max_tokens'],
    says: one((path) => `Unrecognized request argument supplied: ${path}`),
  },
  Mistral: {
    status: 422,
    refuses: [...NEW, ...IN_TURNS, 'reasoning_effort', 'max_completion_tokens', 'stream_options'],
    says: (paths) => ({ object: 'error', message: pydantic(paths) }),
  },
  Gemini: {
    refuses: [...NEW, 'top_k', 'tools.function.parameters.additionalProperties'],
    says([path = '']) {
      const [name, ...around] = path.split('.').toReversed();
      const place = around.length === 0 ? '' : ` at 'tools[0].function_declarations[0].parameters'`;
      const words = `Invalid JSON payload received. Unknown name "${name}"${place}: Cannot find field.`;
      return google(400, words, 'INVALID_ARGUMENT');
    },
  },
  Groq: {
    refuses: [...NEW, ...IN_TURNS],
    says: one((path) => `'messages.1' : property '${path.split('.').at(-1)}' is unsupported`),
  },
  vLLM: { place: 'local', refuses: [...NEW, ...IN_TURNS], says: pydantic },
};

/** A name finds what any element of a list has. */
const holds = (value: unknown, [name = '', ...inner]: Path): boolean => {
  if (Array.isArray(value) && typeof name === 'string')
    return value.some((each) => holds(each, [name, ...inner]));
  const held = (value as Json | null)?.[name];
  return inner.length === 0 ? held !== undefined : holds(held, inner);
};

const strict =
  ({ refuses, says, status = 400 }: Host): Script =>
  (call) => {
    const named = refuses.filter((path) => holds(call.json, path.split('.')));
    return (named.length === 0 ? saying(SAID, {}) : json(status, says(named)))(call);
  };

const PAIRS = Object.entries(HOSTS).flatMap(([name, host]) =>
  Object.entries(AGENTS).map(([agent, asked]) => ({ name, host, agent, ...asked })),
);

test.each(PAIRS)(
  '$name answers $agent, whatever fields it refuses, and is not asked for them again',
  async ({ host, protocol, asks }) => {
    const { url, system, next } = await startBetween(host.place ?? 'hosted_a', strict(host));
    const question = { protocol, isStream: true, more: asks };
    const told = { status: 200, text: SAID.text, faults: [] };
    expect(await ask(url, question)).toMatchObject(told);
    const sent = system.calls.length;
    expect(await ask(url, { ...question, isStream: false })).toMatchObject(told);
    expect([system.calls.length - sent, next.calls.length]).toEqual([1, 0]);
  },
);

test.each(Object.entries(AGENTS))(
  '%s is answered by OpenAI, which streams to verified organizations alone',
  async (_agent, { protocol, asks }) => {
    const message = 'Your organization must be verified to stream this model.';
    const error = { message, param: 'stream', code: 'unsupported_value' };
    const { url, system, next } = await startBetween('hosted_a', (call) =>
      (call.json['stream'] === true ? json(400, { error }) : saying(SAID, {}))(call),
    );
    const told = { status: 200, upstream: 'hosted_a', reason: 'none', text: SAID.text };
    expect(await ask(url, { protocol, isStream: true, more: asks })).toMatchObject(told);
    expect([system.calls.length, next.calls.length]).toEqual([2, 0]);
  },
);

test('a request is never sent with what some hosts refuse and none needs', async () => {
  const { url, system } = await startBetween('hosted_a', saying(SAID, {}));
  const more = AGENTS['Claude Code'].asks;
  await ask(url, { protocol: 'messages', isStream: false, more });
  const [sent] = system.calls;
  // Anthropic's blocks, a user of 150 characters (OpenAI takes 64), answers that are not streamed (DashScope).
  expect(sent?.json).toMatchObject({ stream: true, messages: [{}, { content: 'hi' }, {}, {}, {}] });
  expect(String(sent?.json['user']).length).toBeLessThanOrEqual(64);
});

/** How hosts of a protocol name a field; some by its last name alone. */
const WAYS: Readonly<Record<string, (path: Path) => Json>> = {
  Anthropic: (path) => ({
    type: 'error',
    error: { message: `${path.join('.')}: Extra inputs are not permitted` },
  }),
  Bedrock: (path) => ({
    message: `Malformed input request: #/${path.slice(0, -1).join('/')}: extraneous key [${path.at(-1)}] is not permitted`,
  }),
  'pydantic in front of an engine': (path) => ({
    detail: [{ loc: ['body', ...path], msg: 'Extra inputs are not permitted' }],
  }),
  'zod in front of an engine': (path) => ({
    error: {
      message: `Unrecognized key(s) in object: '${path.at(-1)}'`,
      param: path.slice(0, -1).join('.'),
    },
  }),
  'a server in Go': (path) => ({ error: { message: `json: unknown field "${path.at(-1)}"` } }),
};

const ANSWERS: Readonly<Record<Protocol, Script>> = {
  chat: saying(SAID, {}),
  messages: sse(MESSAGE_START, ...textBlock('hi'), ...messageEnd('end_turn')),
  responses: sse(...responseEvents('hi', 'response.completed', { status: 'completed' })),
};

test.each(
  Object.entries(WAYS).flatMap(([host, says]) =>
    Object.values(AGENTS)
      .filter(({ spare }) => spare !== undefined)
      .map((agent) => ({ host, says, ...agent })),
  ),
)(
  '$host takes a request of $protocol without the field that it names',
  async ({ says, protocol, asks, spare = [] }) => {
    let refused: Path = [];
    const { url, next } = await startBetween(
      'hosted_a',
      (call) => (holds(call.json, refused) ? json(400, says(refused)) : ANSWERS[protocol])(call),
      { HOSTED_A_PROTOCOLS: 'native' },
    );
    for (refused of spare) {
      // What a model refuses is remembered.
      const model = refused.join('.');
      const told = await ask(url, { protocol, isStream: true, more: { ...asks, model } });
      expect([model, told.upstream, next.calls.length]).toEqual([model, 'hosted_a', 0]);
    }
  },
);

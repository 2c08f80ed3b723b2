import { asList, asObject, asText, eventsIn, type Json, objectIn } from '../chaos/events.ts';
import { aboutIn, TOOL } from './saying.ts';

/** How the history of a conversation is kept and sent. */
export type Protocol = 'chat' | 'messages' | 'responses';

export interface Asked {
  readonly text: string;
  /** Base64 of a PNG; null: none. */
  readonly picture: string | null;
}

/** A call that waits for its result. */
export interface OpenCall {
  readonly id: string;
  readonly about: string;
}

export interface Result extends OpenCall {
  readonly text: string;
  readonly picture: string | null;
}

/** A client in the middle of a conversation, which keeps what it was answered as real ones do. */
export interface Caller {
  readonly path: string;
  /** Whether a tool's result may have a picture. */
  readonly showsResults: boolean;
  /** What the system says in between. */
  note(text: string): void;
  /** What the user says. */
  ask(asked: Asked): void;
  /** In the order in which they came, and what the user says with them. */
  give(results: readonly Result[], also: Asked | null): void;
  body(asking: Asking): object;
  /** Takes an answer into the history. */
  hear(answer: string, isStream: boolean): readonly OpenCall[];
  /** All that it would send again. */
  readonly history: readonly Json[];
}

interface Asking {
  readonly stream: boolean;
  readonly thinking: 'off' | 'enabled' | 'adaptive';
}

/** @param isStored the client leaves `store` at its default, and does not ask for encrypted thoughts */
export function createCaller(protocol: Protocol, isStored: boolean): Caller {
  switch (protocol) {
    case 'chat':
      return createChatCaller();
    case 'messages':
      return createMessagesCaller();
    case 'responses':
      return createResponsesCaller(isStored);
  }
}

const SCHEMA = { type: 'object', properties: { about: { type: 'string' } }, required: ['about'] };
const DESCRIPTION = 'Looks something up';

const openCall = (id: unknown, input: unknown): OpenCall => ({
  id: asText(id),
  about: asText(aboutIn(input)),
});

const dataUrl = (picture: string) => `data:image/png;base64,${picture}`;

const eventsOf = (text: string): readonly Json[] =>
  eventsIn(text).events.map(({ data }) => objectIn(data) ?? {});

/** As `messages.push(completion.choices[0].message)`. */
function createChatCaller(): Caller {
  const history: Json[] = [];
  const ask = ({ text, picture }: Asked) => {
    const image = { type: 'image_url', image_url: { url: dataUrl(picture ?? '') } };
    const content: unknown = picture === null ? text : [{ type: 'text', text }, image];
    history.push({ role: 'user', content });
  };
  return {
    path: '/v1/chat/completions',
    showsResults: false,
    history,
    note: (content) => void history.push({ role: 'system', content }),
    ask,
    give(results, also) {
      for (const { id, text } of results)
        history.push({ role: 'tool', tool_call_id: id, content: text });
      if (also !== null) ask(also);
    },
    body: ({ stream }) => ({
      model: 'm',
      messages: history,
      stream,
      tools: [
        {
          type: 'function',
          function: { name: TOOL, description: DESCRIPTION, parameters: SCHEMA },
        },
      ],
    }),
    hear(answer, isStream) {
      const whole = objectIn(answer);
      const message = isStream
        ? messageOf(eventsOf(answer))
        : asObject(asList(whole?.['choices'])[0]?.['message']);
      history.push(message);
      return asList(message['tool_calls']).map((call) =>
        openCall(call['id'], asObject(call['function'])['arguments']),
      );
    },
  };
}

/** Texts joined, and the pieces of calls by their index. */
function messageOf(chunks: readonly Json[]): Json {
  const texts: Record<string, string> = {};
  const parts: Json[] = [];
  const calls: { id: string; type: string; function: { name: string; arguments: string } }[] = [];
  for (const chunk of chunks) {
    const delta = asObject(asList(chunk['choices'])[0]?.['delta']);
    parts.push(...asList(delta['content']));
    for (const name of ['content', 'reasoning_content'])
      if (asText(delta[name]) !== '') texts[name] = (texts[name] ?? '') + asText(delta[name]);
    for (const { index, id, function: called } of asList(delta['tool_calls'])) {
      const piece = asObject(called);
      const call = (calls[Number(index)] ??= {
        id: asText(id),
        type: 'function',
        function: { name: asText(piece['name']), arguments: '' },
      });
      call.function.arguments += asText(piece['arguments']);
    }
  }
  return {
    role: 'assistant',
    content: parts.length > 0 ? parts : null,
    ...texts,
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

/** As `messages.push({ role: 'assistant', content: message.content })`; there is no message without content. */
function createMessagesCaller(): Caller {
  const history: Json[] = [];
  const image = (data: string) => ({
    type: 'image',
    source: { type: 'base64', media_type: 'image/png', data },
  });
  const blocksOf = ({ text, picture }: Asked): Json[] => [
    ...(picture === null ? [] : [image(picture)]),
    { type: 'text', text },
  ];
  return {
    path: '/v1/messages',
    showsResults: true,
    history,
    note: (content) => void history.push({ role: 'system', content }),
    ask(asked) {
      const content = asked.picture === null ? asked.text : blocksOf(asked);
      history.push({ role: 'user', content });
    },
    give(results, also) {
      const blocks = results.map((result) => ({
        type: 'tool_result',
        tool_use_id: result.id,
        content: result.picture === null ? result.text : blocksOf(result),
      }));
      const content = [...blocks, ...(also === null ? [] : blocksOf(also))];
      history.push({ role: 'user', content });
    },
    body: ({ stream, thinking }) => ({
      model: 'm',
      max_tokens: 8000,
      messages: history,
      stream,
      tools: [{ name: TOOL, description: DESCRIPTION, input_schema: SCHEMA }],
      ...(thinking === 'enabled' && { thinking: { type: 'enabled', budget_tokens: 2000 } }),
      ...(thinking === 'adaptive' && { thinking: { type: 'adaptive' } }),
    }),
    hear(answer, isStream) {
      const content = isStream ? blocksIn(eventsOf(answer)) : asList(objectIn(answer)?.['content']);
      if (content.length > 0) history.push({ role: 'assistant', content });
      return content
        .filter(({ type }) => type === 'tool_use')
        .map(({ id, input }) => openCall(id, input));
    },
  };
}

function blocksIn(events: readonly Json[]): readonly Json[] {
  const blocks: Record<string, unknown>[] = [];
  const json: string[] = [];
  for (const { type, index, content_block: begun, delta } of events) {
    const at = Number(index);
    if (type === 'content_block_start') blocks[at] = { ...asObject(begun) };
    const block = blocks[at];
    if (type !== 'content_block_delta' || block === undefined) continue;
    const { type: _type, partial_json: piece, ...texts } = asObject(delta);
    json[at] = (json[at] ?? '') + asText(piece);
    for (const [name, text] of Object.entries(texts))
      block[name] = asText(block[name]) + asText(text);
  }
  return blocks.map((block, at) =>
    block['type'] === 'tool_use' ? { ...block, input: objectIn(json[at] || '{}') } : block,
  );
}

/** As `input.push(...response.output)`, or of a stream the items as they come, which is what Codex does. */
function createResponsesCaller(isStored: boolean): Caller {
  const history: Json[] = [];
  const partsOf = ({ text, picture }: Asked): Json[] => [
    { type: 'input_text', text },
    ...(picture === null
      ? []
      : [{ type: 'input_image', image_url: dataUrl(picture), detail: 'auto' }]),
  ];
  const ask = (asked: Asked) => {
    const content = asked.picture === null ? asked.text : partsOf(asked);
    history.push({ role: 'user', content });
  };
  return {
    path: '/v1/responses',
    showsResults: true,
    history,
    note: (content) => void history.push({ role: 'developer', content }),
    ask,
    give(results, also) {
      for (const result of results)
        history.push({
          type: 'function_call_output',
          call_id: result.id,
          output: result.picture === null ? result.text : partsOf(result),
        });
      if (also !== null) ask(also);
    },
    body: ({ stream, thinking }) => ({
      model: 'm',
      input: history,
      stream,
      tools: [{ type: 'function', name: TOOL, description: DESCRIPTION, parameters: SCHEMA }],
      ...(!isStored && { store: false, include: ['reasoning.encrypted_content'] }),
      ...(thinking !== 'off' && { reasoning: { effort: 'low', summary: 'auto' } }),
    }),
    hear(answer, isStream) {
      const output = isStream
        ? eventsOf(answer)
            .filter(({ type }) => type === 'response.output_item.done')
            .map(({ item }) => asObject(item))
        : asList(objectIn(answer)?.['output']);
      history.push(...output);
      return output
        .filter(({ type }) => type === 'function_call')
        .map((item) => openCall(item['call_id'], item['arguments']));
    },
  };
}

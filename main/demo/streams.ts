import { DEMO_MODEL, type DemoStream } from './answers.ts';

/** By the end of the path. The demo has no tokenizer, so a word counts as a token. */
export const DEMO_STREAMS: readonly (readonly [path: string, stream: DemoStream])[] = [
  ['/chat/completions', { whole: wholeChat, begin: () => '', word: chatWord, end: chatEnd }],
  [
    '/completions',
    {
      whole: (text) => completion(text, 'stop'),
      begin: () => '',
      word: (word) => data(completion(word, null)),
      end: () => data(completion('', 'stop')) + DONE,
    },
  ],
  [
    '/responses',
    {
      whole: (text) => response('completed', text),
      begin: responseBegin,
      word: (word) => typed('response.output_text.delta', { ...PART_AT, delta: word }),
      end: responseEnd,
    },
  ],
  [
    '/messages',
    {
      whole: (text) => message([{ type: 'text', text }], 'end_turn', text),
      begin: messageBegin,
      word: (word) =>
        typed('content_block_delta', { index: 0, delta: { type: 'text_delta', text: word } }),
      end: messageEnd,
    },
  ],
];

const DONE = 'data: [DONE]\n\n';
const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
const typed = (type: string, value: object) => `event: ${type}\n${data({ type, ...value })}`;
const countOf = (text: string) => text.split(' ').length;
const nowSeconds = () => Math.floor(Date.now() / 1000);

function common(): object {
  return { id: 'chatcmpl-demo', created: nowSeconds(), model: DEMO_MODEL };
}

function chatUsage(text: string): object {
  const words = countOf(text);
  return { prompt_tokens: 1, completion_tokens: words, total_tokens: words + 1 };
}

function wholeChat(text: string): object {
  const choice = { index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' };
  return { ...common(), object: 'chat.completion', choices: [choice], usage: chatUsage(text) };
}

function chatChunk(delta: object, finishReason: string | null, more: object = {}): string {
  const choices = [{ index: 0, delta, finish_reason: finishReason }];
  return data({ ...common(), object: 'chat.completion.chunk', choices, ...more });
}

function chatWord(word: string, isFirst: boolean): string {
  return chatChunk(isFirst ? { role: 'assistant', content: word } : { content: word }, null);
}

function chatEnd(text: string): string {
  return chatChunk({}, 'stop', { usage: chatUsage(text) }) + DONE;
}

function completion(text: string, finishReason: string | null): object {
  const choices = [{ index: 0, text, logprobs: null, finish_reason: finishReason }];
  return { ...common(), object: 'text_completion', choices };
}

const PART_AT = { item_id: 'msg_demo', output_index: 0, content_index: 0, sequence_number: 0 };

function item(text: string): object {
  const content = [{ type: 'output_text', text, annotations: [] }];
  return { id: 'msg_demo', type: 'message', role: 'assistant', status: 'completed', content };
}

function response(status: string, text: string | null): object {
  return {
    id: 'resp_demo',
    object: 'response',
    created_at: nowSeconds(),
    model: DEMO_MODEL,
    status,
    error: null,
    output: text === null ? [] : [item(text)],
    usage: text === null ? null : { input_tokens: 1, output_tokens: countOf(text) },
  };
}

function responseBegin(): string {
  return (
    typed('response.created', { response: response('in_progress', null), sequence_number: 0 }) +
    typed('response.output_item.added', {
      ...PART_AT,
      item: { ...item(''), status: 'in_progress', content: [] },
    }) +
    typed('response.content_part.added', {
      ...PART_AT,
      part: { type: 'output_text', text: '', annotations: [] },
    })
  );
}

function responseEnd(text: string): string {
  return (
    typed('response.output_text.done', { ...PART_AT, text }) +
    typed('response.output_item.done', { ...PART_AT, item: item(text) }) +
    typed('response.completed', { response: response('completed', text), sequence_number: 0 })
  );
}

function message(content: readonly object[], stopReason: string | null, text: string): object {
  return {
    id: 'msg_demo',
    type: 'message',
    role: 'assistant',
    model: DEMO_MODEL,
    content,
    stop_reason: stopReason,
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: countOf(text) },
  };
}

function messageBegin(): string {
  return (
    typed('message_start', { message: message([], null, '') }) +
    typed('content_block_start', { index: 0, content_block: { type: 'text', text: '' } })
  );
}

function messageEnd(text: string): string {
  const usage = { output_tokens: countOf(text) };
  return (
    typed('content_block_stop', { index: 0 }) +
    typed('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage }) +
    typed('message_stop', {})
  );
}

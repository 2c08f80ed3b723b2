import { createWriteStream } from 'node:fs';
import { once } from 'node:events';
import { chance } from '../support/chance.ts';

/*
 * A language model for a real engine, made in a moment: a small llama in the GGUF format (version 3, by its
 * specification in the ggml repository) in which every word is followed by the next of a cycle. Its text is known
 * beforehand, so that a lost, doubled or swapped word shows; greedy sampling goes on alike from its own text.
 *
 * How it can be so without training: attention and feed-forward are zero, so the last position holds nothing but
 * the last token's own vector, and the row of the output matrix for each next word is the vector of the one
 * before it. The vectors are random and long enough to be all but perpendicular.
 */

/** What a model says. */
export interface ModelText {
  /** The tokens of its text in their order, blanks included; after the last comes the first. */
  readonly cycle: readonly string[];
  /** Its text ends behind the last, as one does whose reader runs until the end of the answer. */
  readonly ends?: true;
  /** Its chat template trims what is said, as Llama 3's does. */
  readonly trims?: true;
  /** What it thinks before it says anything, in tokens as well; a model without it does not reason. */
  readonly thought?: readonly string[];
  /** A tool that it calls behind its words, once, and how the arguments are cut up into tokens. */
  readonly call?: { readonly name: string; readonly arguments: readonly string[] };
}

const WIDTH = 256;
const HEADS = 4;
const LAYERS = 1;
const HIDDEN = 32;
const ALIGNMENT = 32;

const END_OF_TEXT = '</s>';

/** SentencePiece writes a blank so. */
const BLANK = '\u2581';
const LETTERS = ['\n', ...Array.from({ length: 95 }, (_, at) => String.fromCharCode(32 + at))];

/** GGUF's types of values. */
const UINT32 = 4;
const INT32 = 5;
const FLOAT32 = 6;
const BOOL = 7;
const STRING = 8;
const ARRAY = 9;

/** SentencePiece's kinds of tokens. */
const NORMAL = 1;
const UNKNOWN = 2;
const CONTROL = 3;
const BYTE = 6;

const THOUGHT =
  "{% if message['reasoning_content'] %}" +
  "{{ '<think>\\n' + message['reasoning_content'] + '</think>\\n\\n' }}{% endif %}";

/** As Qwen's models are told of tools. */
const TOOLS = String.raw`{% if tools %}{{ '[system]# Tools\n\nYou are provided with function signatures within <tools></tools> XML tags:\n<tools>' }}{% for tool in tools %}{{ '\n' }}{{ tool | tojson }}{% endfor %}{{ '\n</tools>\n\nFor each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>[end]' }}{% endif %}`;

const CALLS = String.raw`{% if message['tool_calls'] %}{% for call in message['tool_calls'] %}{{ '\n<tool_call>\n{"name": "' + call['function']['name'] + '", "arguments": ' }}{{ call['function']['arguments'] | tojson }}{{ '}\n</tool_call>' }}{% endfor %}{% endif %}`;

const templateOf = ({ trims, thought, call }: ModelText) =>
  (call === undefined ? '' : TOOLS) +
  "{% for message in messages %}{{ '[' + message['role'] + ']' }}" +
  (thought === undefined ? '' : THOUGHT) +
  `{{ message['content']${trims ? ' | trim' : ''} }}` +
  (call === undefined ? '' : CALLS) +
  "{% if not loop.last or add_generation_prompt %}{{ '[end]' }}{% endif %}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '[assistant]' }}{% endif %}";

interface Vocabulary {
  readonly tokens: readonly string[];
  readonly kinds: readonly number[];
  readonly scores: readonly number[];
}

/**
 * All bytes, all letters of ASCII, and the words with each of their beginnings: pairs are merged by score, so
 * a word is read as the one token that said it only where each of its beginnings is a token too.
 */
function vocabularyOf(words: readonly string[]): Vocabulary {
  const bytes = Array.from({ length: 256 }, (_, at) => {
    return `<0x${at.toString(16).toUpperCase().padStart(2, '0')}>`;
  });
  const text = new Map(LETTERS.map((letter) => [letter.replaceAll(' ', BLANK), -1000]));
  for (const word of words) {
    const spelled = word.replaceAll(' ', BLANK);
    for (let end = 2; end <= spelled.length; end += 1) text.set(spelled.slice(0, end), end);
  }
  return {
    tokens: ['<unk>', '<s>', END_OF_TEXT, ...bytes, ...text.keys()],
    kinds: [UNKNOWN, CONTROL, CONTROL, ...bytes.map(() => BYTE), ...[...text].map(() => NORMAL)],
    scores: [0, 0, 0, ...bytes.map(() => 0), ...text.values()],
  };
}

function bytesOf(size: number, write: (view: DataView) => void): Buffer {
  const bytes = Buffer.alloc(size);
  write(new DataView(bytes.buffer, bytes.byteOffset, size));
  return bytes;
}

const uint32 = (value: number) => bytesOf(4, (view) => view.setUint32(0, value, true));
const int32 = (value: number) => bytesOf(4, (view) => view.setInt32(0, value, true));
const float32 = (value: number) => bytesOf(4, (view) => view.setFloat32(0, value, true));
const uint64 = (value: number) => bytesOf(8, (view) => view.setBigUint64(0, BigInt(value), true));

function string(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([uint64(bytes.length), bytes]);
}

type Fact = readonly [key: string, type: number, value: Buffer];

const list = <T>(
  key: string,
  type: number,
  values: readonly T[],
  write: (value: T) => Buffer,
): Fact => [key, ARRAY, Buffer.concat([uint32(type), uint64(values.length), ...values.map(write)])];

function factsOf({ tokens, kinds, scores }: Vocabulary, text: ModelText): readonly Fact[] {
  const number = (key: string, value: number): Fact => [key, UINT32, uint32(value)];
  return [
    ['general.architecture', STRING, string('llama')],
    number('llama.context_length', 65_536),
    number('llama.embedding_length', WIDTH),
    number('llama.block_count', LAYERS),
    number('llama.feed_forward_length', HIDDEN),
    number('llama.attention.head_count', HEADS),
    ['llama.attention.layer_norm_rms_epsilon', FLOAT32, float32(1e-6)],
    ['tokenizer.ggml.model', STRING, string('llama')],
    list('tokenizer.ggml.tokens', STRING, tokens, string),
    list('tokenizer.ggml.scores', FLOAT32, scores, float32),
    list('tokenizer.ggml.token_type', INT32, kinds, int32),
    number('tokenizer.ggml.unknown_token_id', 0),
    number('tokenizer.ggml.bos_token_id', 1),
    number('tokenizer.ggml.eos_token_id', 2),
    ['tokenizer.ggml.add_space_prefix', BOOL, Buffer.from([0])],
    ['tokenizer.chat_template', STRING, string(templateOf(text))],
  ];
}

interface Tensor {
  readonly name: string;
  /** The length of a row first. */
  readonly shape: readonly number[];
  readonly values: Float32Array;
}

const lengthOf = (shape: readonly number[]) => shape.reduce((product, size) => product * size, 1);

/** The tokens that are said once, before the cycle: the tags with a line break behind each, as Qwen3 writes them. */
const openingOf = ({ thought }: ModelText): readonly string[] =>
  thought === undefined ? [] : ['<think>', '\n', ...thought, '</think>', '\n\n'];

/** The tokens behind the cycle, if it does not begin again. */
const closingOf = ({ call }: ModelText): readonly string[] =>
  call === undefined
    ? []
    : [
        '\n<tool_call>',
        `\n{"name": "${call.name}", "arguments": `,
        ...call.arguments,
        '}\n</tool_call>',
      ];

function tensorsOf({ tokens }: Vocabulary, text: ModelText): readonly Tensor[] {
  const random = chance(1);
  const size = tokens.length;
  const vectors = Float32Array.from({ length: size * WIDTH }, () => (random() < 0.5 ? -1 : 1));
  const outputs = new Float32Array(size * WIDTH);
  const ids = new Map(tokens.map((token, id) => [token.replaceAll(BLANK, ' '), id]));
  const idOf = (word: string) => ids.get(word) ?? 0;
  const opening = openingOf(text).map(idOf);
  const closing = closingOf(text);
  const said = [...text.cycle, ...closing].map(idOf);
  const [first = 0] = said;
  const goesOn = closing.length === 0 && text.ends === undefined;
  const afterLast = goesOn ? first : idOf(END_OF_TEXT);
  const follow = (before: number, next: number) => {
    for (let at = 0; at < WIDTH; at += 1) {
      const place = next * WIDTH + at;
      outputs[place] = (outputs[place] ?? 0) + (vectors[before * WIDTH + at] ?? 0);
    }
  };
  for (const [at, id] of said.entries()) follow(id, said[at + 1] ?? afterLast);
  for (const [at, id] of opening.entries()) follow(id, opening[at + 1] ?? first);
  // Every prompt ends in the template's bracket.
  follow(idOf(']'), opening[0] ?? first);
  const tensor = (name: string, shape: readonly number[], value = 0): Tensor => {
    return { name, shape, values: new Float32Array(lengthOf(shape)).fill(value) };
  };
  const layers = Array.from({ length: LAYERS }, (_, layer) => [
    tensor(`blk.${layer}.attn_norm.weight`, [WIDTH], 1),
    ...['q', 'k', 'v', 'output'].map((part) =>
      tensor(`blk.${layer}.attn_${part}.weight`, [WIDTH, WIDTH]),
    ),
    tensor(`blk.${layer}.ffn_norm.weight`, [WIDTH], 1),
    tensor(`blk.${layer}.ffn_gate.weight`, [WIDTH, HIDDEN]),
    tensor(`blk.${layer}.ffn_up.weight`, [WIDTH, HIDDEN]),
    tensor(`blk.${layer}.ffn_down.weight`, [HIDDEN, WIDTH]),
  ]);
  return [
    { name: 'token_embd.weight', shape: [WIDTH, size], values: vectors },
    ...layers.flat(),
    tensor('output_norm.weight', [WIDTH], 1),
    { name: 'output.weight', shape: [WIDTH, size], values: outputs },
  ];
}

const padded = (size: number) => Math.ceil(size / ALIGNMENT) * ALIGNMENT;

/** Writes the model to `path`. */
export async function writeModel(path: string, text: ModelText): Promise<void> {
  const vocabulary = vocabularyOf([...openingOf(text), ...text.cycle, ...closingOf(text)]);
  const facts = factsOf(vocabulary, text);
  const tensors = tensorsOf(vocabulary, text);
  let offset = 0;
  const places = tensors.map(({ name, shape, values }) => {
    const at = offset;
    offset += padded(values.byteLength);
    // Type 0: 32-bit floats.
    const head = [string(name), uint32(shape.length), ...shape.map(uint64), uint32(0), uint64(at)];
    return Buffer.concat(head);
  });
  const head = Buffer.concat([
    Buffer.from('GGUF'),
    uint32(3),
    uint64(tensors.length),
    uint64(facts.length),
    ...facts.flatMap(([key, type, value]) => [string(key), uint32(type), value]),
    ...places,
  ]);
  const file = createWriteStream(path);
  for (const part of [head, ...tensors.map(({ values }) => Buffer.from(values.buffer))]) {
    file.write(part);
    file.write(Buffer.alloc(padded(part.length) - part.length));
  }
  file.end();
  await once(file, 'finish');
}

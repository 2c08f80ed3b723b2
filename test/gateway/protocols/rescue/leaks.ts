import type { LeakedCall } from '../../../../main/gateway/protocols/rescue/dialects.ts';
import type { OfferedTools } from '../../../../main/gateway/protocols/rescue/dialects.ts';
import type { Draws } from '../../../support/draws.ts';

/** What a coding agent and a home assistant offer. */
export const TOOLS = [
  {
    name: 'read',
    properties: { path: { type: 'string' }, lines: { type: 'integer' } },
    required: ['path'],
  },
  { name: 'read_file', properties: { file: { type: ['string', 'null'] } }, required: ['file'] },
  { name: 'mcp__git__status', properties: {}, required: [] },
  {
    name: 'set-light',
    properties: {
      room: { enum: ['hall', 'bath'] },
      level: { type: 'number' },
      on: { type: 'boolean' },
      colours: { type: 'array', items: { type: 'string' } },
      at: { type: 'object', properties: { hour: { type: 'integer' } }, required: ['hour'] },
    },
    required: ['room', 'on'],
  },
  {
    name: 'write',
    properties: { path: { type: 'string' }, content: { type: 'string' } },
    required: ['path', 'content'],
  },
];

export const OFFERED: OfferedTools = new Map(
  TOOLS.map(({ name, ...schema }) => [name, { type: 'object', ...schema }]),
);

const TEXTS = [
  'notes.md',
  'src/a b.ts',
  'He said "no" \\ and left',
  'function f() { return { a: [1, 2] }; }\n// ; {"name": "read"}\n',
  '<div class="x">\n  <b>é😀</b>\n</div>',
  '```json\n{"a": 1}\n```',
  'if a < b and c[0] == "}":\n    print("[TOOL_CALLS]")',
];

function valueOf(schema: Record<string, unknown>, draws: Draws): unknown {
  if (Array.isArray(schema['enum'])) return draws.pick(schema['enum']);
  switch (schema['type']) {
    case 'integer':
      return draws.below(1000);
    case 'number':
      return draws.below(100) / 4;
    case 'boolean':
      return draws.happens(0.5);
    case 'array':
      return Array.from({ length: draws.below(3) }, () => draws.pick(TEXTS));
    case 'object':
      return { hour: draws.below(24) };
    default:
      return draws.pick(TEXTS);
  }
}

export function callFrom(draws: Draws): LeakedCall {
  const { name, properties, required } = draws.pick(TOOLS);
  const args = Object.entries(properties).filter(
    ([key]) => (required as string[]).includes(key) || draws.happens(0.5),
  );
  return {
    name,
    arguments: Object.fromEntries(args.map(([key, schema]) => [key, valueOf(schema, draws)])),
  };
}

const json = ({ name, arguments: args }: LeakedCall, key: string) =>
  JSON.stringify({ name, [key]: args }, null, 1);
const texts = ({ arguments: args }: LeakedCall, write: (key: string, text: string) => string) =>
  Object.entries(args)
    .map(([key, value]) => write(key, typeof value === 'string' ? value : JSON.stringify(value)))
    .join('\n');
const parameters = (call: LeakedCall) =>
  texts(call, (key, text) => `<parameter=${key}>\n${text}\n</parameter>`);

const R1 = (call: LeakedCall) =>
  `<｜tool▁call▁begin｜>function<｜tool▁sep｜>${call.name}\n\`\`\`json\n${JSON.stringify(call.arguments)}\n\`\`\`<｜tool▁call▁end｜>`;
const V31 = (call: LeakedCall) =>
  `<｜tool▁call▁begin｜>${call.name}<｜tool▁sep｜>${JSON.stringify(call.arguments)}<｜tool▁call▁end｜>`;
const DSML = (call: LeakedCall) =>
  `<｜DSML｜invoke name="${call.name}">\n${Object.entries(call.arguments)
    .map(([key, value]) => {
      const isText = typeof value === 'string';
      return `<｜DSML｜parameter name="${key}" string="${isText}">${isText ? value : JSON.stringify(value)}</｜DSML｜parameter>\n`;
    })
    .join('')}</｜DSML｜invoke>`;
const deepSeek = (write: (call: LeakedCall) => string) => (calls: readonly LeakedCall[]) =>
  `<｜tool▁calls▁begin｜>${calls.map(write).join('')}<｜tool▁calls▁end｜><｜end▁of▁sentence｜>`;
const each =
  (write: (call: LeakedCall) => string, between = '\n') =>
  (calls: readonly LeakedCall[]) =>
    calls.map(write).join(between);

/** Each dialect as its models write it. `isAlone`: nothing stands before it. */
export const WRITERS: readonly {
  readonly dialect: string;
  readonly write: (calls: readonly LeakedCall[]) => string;
  readonly isAlone?: true;
}[] = [
  {
    dialect: 'Hermes',
    write: each((call) => `<tool_call>\n${json(call, 'arguments')}\n</tool_call>`),
  },
  {
    dialect: 'Hermes, whose last end is lost',
    write: (calls) =>
      each((call) => `<tool_call>\n${json(call, 'arguments')}\n</tool_call>`)(calls).replace(
        /<\/tool_call>$/,
        '<|im_end|>',
      ),
  },
  {
    dialect: 'Qwen3-Coder',
    write: each(
      (call) =>
        `<tool_call>\n<function=${call.name}>\n${parameters(call)}\n</function>\n</tool_call>`,
    ),
  },
  {
    dialect: 'Qwen3-Coder, without its first tag',
    write: each(
      (call) => `<function=${call.name}>\n${parameters(call)}\n</function>\n</tool_call>`,
    ),
  },
  {
    dialect: 'Llama 3.1, tools of the user',
    write: each((call) => `<function=${call.name}>${JSON.stringify(call.arguments)}</function>`),
  },
  {
    dialect: 'GLM',
    write: each(
      (call) =>
        `<tool_call>${call.name}\n${texts(call, (key, text) => `<arg_key>${key}</arg_key>\n<arg_value>${text}</arg_value>`)}\n</tool_call>`,
    ),
  },
  {
    dialect: 'Mistral, a list',
    write: (calls) =>
      `[TOOL_CALLS] ${JSON.stringify(calls.map((call) => ({ ...call, id: 'abc123def' })))}</s>`,
  },
  {
    dialect: 'Mistral, names',
    write: each((call) => `[TOOL_CALLS]${call.name}[ARGS]${JSON.stringify(call.arguments)}`, ''),
  },
  {
    dialect: 'Llama 3',
    write: (calls) =>
      `<|python_tag|>${each((call) => json(call, 'parameters'), '; ')(calls)}<|eom_id|>`,
  },
  {
    dialect: 'Llama 3, bare',
    isAlone: true,
    write: each(
      (call) => JSON.stringify({ type: 'function', name: call.name, parameters: call.arguments }),
      '; ',
    ),
  },
  { dialect: 'a bare list', isAlone: true, write: (calls) => JSON.stringify(calls) },
  { dialect: 'DeepSeek R1', write: deepSeek(R1) },
  { dialect: 'DeepSeek V3.1', write: deepSeek(V31) },
  {
    dialect: 'DeepSeek V3.2',
    write: (calls) =>
      `<｜DSML｜function_calls>\n${each(DSML)(calls)}\n</｜DSML｜function_calls><｜end▁of▁sentence｜>`,
  },
  {
    dialect: 'DeepSeek V4, without its outer end',
    write: (calls) => `<｜DSML｜tool_calls>\n${each(DSML)(calls)}`,
  },
  { dialect: 'DeepSeek V3.2, without its outer tags', write: each(DSML) },
];

const PROSE = [
  'Models of Qwen write <tool_call> and </tool_call> around the JSON.',
  'The list `Map<string, Array<number>>` has [two] parts; see [the docs](x) and <function=read>.',
  'A [TOOL_CALLS] token stands before the calls, and <|python_tag|> before those of Llama.',
  'Use {"name": "read"} or { "name": "read", "arguments": {} } as the body.',
  'With x < y and z[0] > 1 it holds: {a: 1}.',
  '',
  '{"name": "John", "age": 3}',
  '<div><tool_call-like>text</tool_call-like></div>',
  'I have read `<tool_call>{"name": "read", "arguments": {"path": "a"}}</tool_call>` in the log.',
  '1. <｜tool▁call▁begin｜> is the token of DeepSeek',
  'DeepSeek writes <｜DSML｜function_calls> and <｜DSML｜invoke name="read"> in its answers.',
];
const FENCES = ['```', '~~~', '```xml', '  ```json'];
const LAST = ['That is all.', '```', '"""', '- done', '`x`', '// the end', '</code>'];

/** An answer of some lines about tools, as models explain them: no call is meant, however it looks. */
export function proseFrom(draws: Draws): string {
  const shown = () => draws.pick(WRITERS).write([callFrom(draws)]);
  const part = () => {
    if (draws.happens(0.6)) return draws.pick(PROSE);
    if (draws.happens(0.5)) {
      const fence = draws.pick(FENCES);
      return `${fence}\n${draws.pick(PROSE)}\n${shown()}\n${fence.trim().slice(0, 3)}`;
    }
    // Whatever stands there: a tool that is not offered, arguments that it does not take, or prose behind it.
    const { name, arguments: args } = callFrom(draws);
    const wrong = draws.pick([
      { name: `${name}s`, arguments: args },
      { name: 'set-light', arguments: { room: 'hall', on: 'maybe' } },
      { name: 'read', arguments: { lines: 3 } },
    ]);
    return draws.happens(0.5)
      ? draws.pick(WRITERS).write([wrong])
      : `${shown()}\n${draws.pick(LAST)}`;
  };
  const parts = Array.from({ length: 1 + draws.below(8) }, part);
  return [...parts, ...(draws.happens(0.5) ? [draws.pick(LAST)] : ['The end'])].join('\n');
}

/** A text in the pieces that a stream brings. */
export function piecesOf(text: string, draws: Draws): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length;) {
    const end = at + 1 + draws.below(9);
    pieces.push(text.slice(at, end));
    at = end;
  }
  return pieces;
}

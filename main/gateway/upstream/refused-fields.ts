import { isObject, memberOf } from '../../platform/json.ts';
import { type JsonBody, memberAt, smallValueOf, withMembers } from '../protocols/json-edit.ts';
import { editedObjects } from '../protocols/list-edit.ts';
import type { UpstreamError } from '../protocols/upstream-error.ts';

/* The general rule: a field that a refusal names, in whatever words, is left out. */

/** `a`: a field of the request; `a.b`: `b` wherever it stands in `a`; with `="x"` only while it has this value. */
export type RefusedField = `without ${string}`;

/** How hosts and engines say that they do not take a field, or not of this type; a value that is too large is another matter. */
const REFUSED =
  /unsupported|n[o']t (a |yet )?(support|match|recogni|implemented|permitted|allowed|available)|unknown|unrecognized|unexpected|additional propert|no field|forbidden|deprecated|string too long|of type string|be a valid|(invalid|not a valid) (parameter|argument|field|(anthropic.)?beta)|cannot both|only (.{1,20} is )?allowed/i;
/** … that they do not take its value: then another value may be taken. */
const OF_VALUE =
  /supported (string )?values|must be one of|input should be ['"`]|think(ing)? (value|level) .{0,20}is not supported/i;

/** What ends a sentence; the values that would be taken, which may be called like fields, are none. */
const SENTENCE =
  /[.;] |\n|,? expected | known |(?:values are|must be one of|should be):? ['"`][^;\n]*/;

/** Fields without which the caller would get another answer than it asked for, or none; of reasoning all are settings. */
const KEPT =
  /^(model|messages|input|prompt|system|instructions|tools|functions|function_call|response_format|text|stop|stop_sequences|n|logit_bias|modalities|audio|echo|suffix|prefix|partial|max_output_tokens|previous_response_id|conversation|background|container|mcp_servers|web_search_options|grammar|json_schema|regex|ebnf|structural_tag|structured_outputs|guided_\w+|continue_final_message|add_generation_prompt|(\w+_)?logprobs)$|(?<!^reasoning)\.(role|content|type|name|id|text|arguments|function|tools|input|output|description|parameters|input_schema|schema|json_schema|format|properties|items|enum|const|required|not|any_?of|one_?of|all_?of|\$ref|\$defs|tool_calls|\w*call_id|tool_use_id|function_call|prefix|partial|thinking|signature|summary|encrypted_content|image|image_url|video_url|audio|input_audio|file|file_id|file_data|url|source|data|media_type)$/i;

/** Fields that a host names by their subject where it names none by its name. */
const SUBJECTS: readonly (readonly [words: RegExp, fields: RegExp])[] = [
  // Anthropic (anthropics/claude-code#30795); Ollama (ollama/ollama#12561), Gemini.
  [/\beffort\b|think(ing)? (value|level)/i, /^(reasoning_|reasoning\.|output_config\.)effort$/],
  // Ollama and Anthropic, for models that do not think, or not as they like; DashScope, Bedrock. Claude Code goes by the
  // name that it knows, and the model may be another (anthropics/claude-code#2245, #29531, #89633).
  [/\bthinking\b/i, /^(thinking|reasoning|reasoning_effort)$/],
  // Bedrock; Vertex names them (anthropics/claude-code#49370, #82549).
  [/\bbetas?\b/i, /^anthropic-beta$/],
];

/** A name, or a path as hosts write them: `reasoningEffort`, `input[0].status`, `body.messages.1.refusal`, `#/messages/1`. */
const NAME = /\$?[a-z_][\w-]*(?:[.[\]]{1,2}\w+)*|(?<!\w)\/[a-z_]\w*(?:\/\w+)*/gi;
/** What sets a name (`<>`) off from the words around it. */
const SET_OFF =
  /["'`:=[]<>|<>["'`:=[]|<> is (no|un)|(parameters?|arguments?|fields?|propert(y|ies)|invalid|unknown|supplied|support(ed)?|permitted)\W{0,3}<>/i;

/** Who speaks is no field, though one is called `user`, too. */
const OF_TURNS = /\broles?\b|\b(assistant|tool)\b|\buser\W{0,2} (message|turn)/i;

/** Of these the caller would miss any other value. */
const LEFT_AT: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['stream', true],
  ['tool_choice', 'auto'],
]);

/** The fields of a request that a refusal names. */
export function refusedFields(
  { param, codes, message: text }: UpstreamError,
  request: Readonly<Record<string, unknown>>,
): readonly RefusedField[] {
  const isOfValue = OF_VALUE.test(text);
  const isRefused = (words: string) => isOfValue || REFUSED.test(words);
  if (!isRefused(`${codes.join(' ')} ${text}`)) return [];
  const isOptional = (field: string) =>
    !LEFT_AT.has(field) || LEFT_AT.get(field) === request[field];
  const fields = [...new Set(optionalIn(request).map(([field]) => field))].filter(isOptional);
  const place = param ?? '';
  const names = text.split(SENTENCE).filter(isRefused).flatMap(namesIn);
  const subject = SUBJECTS.find(([words]) => words.test(text))?.[1] ?? NOTHING;
  const ways = [
    namedBy([place], fields, request),
    names.length > 0 ? namedBy([...names, place], fields, request) : [],
    fields.filter((field) => subject.test(field)),
  ];
  const named = ways.find(({ length }) => length > 0) ?? [];
  // vLLM has some fields, and OpenAI some models, without a stream only (vllm-project/vllm#24956).
  return (named.includes('stream') ? ['stream'] : named).map((field) => {
    const value =
      isOfValue || LEFT_AT.has(field) ? memberOf(request, ...field.split('.')) : undefined;
    const isScalar = typeof value === 'string' || typeof value === 'number';
    return `without ${field}${isScalar ? `=${JSON.stringify(value)}` : ''}` as const;
  });
}

function namesIn(sentence: string): readonly string[] {
  const found = [...sentence.matchAll(NAME)].filter(isSetOff);
  const snakeCase = (name: string) =>
    name.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const names = new Set(found.flatMap(([name]) => [name, snakeCase(name)]));
  if (OF_TURNS.test(sentence)) names.delete('user');
  return [...names].slice(/cannot both/i.test(sentence) ? 1 : 0);
}

function isSetOff({ 0: name, index, input }: RegExpExecArray): boolean {
  const after = input.slice(index + name.length);
  const around = `${input.slice(Math.max(0, index - 16), index)}<>${after.slice(0, 6)}`;
  return /[_.[/]|[a-z][A-Z]|-\d/.test(name) || SET_OFF.test(around);
}

const memberIn = (field: string) => field.replace(/\..*/s, '');

/**
 * The fields that the names lead to. Of a path only the first and the last name count: places in lists and tags of
 * pydantic's may stand between them. A name that comes without a member of the request may be inside any of them.
 */
function namedBy(names: readonly string[], fields: readonly string[], request: object) {
  const paths = names.map((path) => path.split(/[.[\]/]+/).filter((part) => !/^\d*$/.test(part)));
  const isMember = (part: string) => Object.hasOwn(request, part);
  const members = new Set(paths.flatMap((path) => path.find(isMember) ?? []));
  const ends = new Set(paths.map((path) => path.at(-1)));
  const named = fields.filter((field) => {
    const isInReach = members.size === 0 || members.has(memberIn(field));
    return isInReach && ends.has(field.slice(field.indexOf('.') + 1));
  });
  // Of what is inside, Gemini names the holder, too; and another member may be called like it.
  const within = new Set(named.flatMap((field) => (/\./.test(field) ? field.split('.') : [])));
  return named.filter((field) => !within.has(field));
}

/** The body without the fields among the adjustments. Those of one member go together, as each is a pass over it. */
export function withoutFields(made: readonly string[], body: JsonBody): JsonBody {
  const fields = made.flatMap((each) => {
    const [, field = '', value = null] = /^without ([^=]*)=?(.*)$/s.exec(each) ?? [];
    const [member = '', ...inner] = field.split('.');
    const valueNow = memberOf(smallValueOf(body, member), ...inner);
    return value === '' || JSON.stringify(valueNow) === value ? [field] : [];
  });
  const byMember = Map.groupBy(fields, memberIn);
  return [...byMember].reduce((left, [name, own]) => dropped(left, name, new Set(own)), body);
}

/** Without fields inside of a member, or without all of it. */
function dropped(body: JsonBody, member: string, fields: ReadonlySet<string>): JsonBody {
  if (fields.has(member)) return withoutMember(body, member);
  const words = [...fields].map((field) => `"${field.slice(member.length + 1)}"`);
  const edit = editedObjects([member], words, (object) => {
    const gone = optionalIn(object, member).filter(([field]) => fields.has(field));
    if (gone.length === 0) return object;
    for (const [, holder, name] of gone) delete holder[name];
    return Object.keys(object).length === 0 ? [] : { ...object };
  });
  return edit(body) ?? body;
}

/**
 * The limit has two names. OpenAI's gpt-5 and o series, and Azure with them, take the newer one (platform.openai.com/docs,
 * Reasoning); Mistral and older engines the other (Gitlawb/openclaude#739).
 */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ['max_tokens', 'max_completion_tokens'],
  ['max_completion_tokens', 'max_tokens'],
]);
/** What is taken only with a field. Anthropic takes some edits of the context only while it thinks. */
const COMPANIONS: ReadonlyMap<string, string> = new Map([
  ['stream', 'stream_options'],
  ['thinking', 'context_management'],
]);

function withoutMember(body: JsonBody, name: string): JsonBody {
  const old = memberAt(body, name);
  if (old === undefined) return body;
  const other = OTHER_NAMES.get(name);
  if (other === undefined)
    return withMembers(body, { [name]: null, [COMPANIONS.get(name) ?? name]: null });
  const { start, end } = memberAt(body, other) ?? old;
  return withMembers(body, { [name]: null, [other]: body.bytes.subarray(start, end) });
}

const [ANYTHING, NOTHING] = [/./s, /(?!)/];
/** What may be left out within such a member, wherever it stands there. */
const LEAVABLE: ReadonlyMap<string, RegExp> = new Map([
  // Anything else may be what is said.
  ['content', /^(cache_control|scope|ttl|annotations|citations|logprobs|caller|status|phase)$/],
  // The names in a tool's schema are the caller's own.
  ['properties', NOTHING],
]);
/** Data of the caller's own. */
const OWN_DATA = /^(schema|input|arguments|output)$/;

/** No refusal names a longer one; the name of a member would be copied for each field inside of it. */
const MAX_FIELD_CHARS = 200;

/** What a request could do without, or a value within a member of it. */
function optionalIn(outer: unknown, within: string | null = null) {
  const found: (readonly [field: string, holder: Record<string, unknown>, name: string])[] = [];
  function look(value: unknown, member: string | null, leavable: RegExp): void {
    if (typeof value !== 'object' || value === null) return;
    for (const [name, inner] of Object.entries(value)) {
      const field = member === null ? name : `${member}.${name}`;
      const mayGo = leavable.test(name) && field.length <= MAX_FIELD_CHARS && !KEPT.test(field);
      if (mayGo && isObject(value)) found.push([field, value, name]);
      if (member === null || leavable === NOTHING) look(inner, member ?? name, ANYTHING);
      else if (!OWN_DATA.test(name)) look(inner, member, LEAVABLE.get(name) ?? leavable);
    }
  }
  look(outer, within, ANYTHING);
  return found;
}

import { createHash } from 'node:crypto';
import { isObject, isTooDeep } from '../../../platform/json.ts';
import type { ChatBody } from './conversation.ts';
import type { FunctionName, TranslationResult, Untranslatable } from './translation.ts';

/** Collects what is wrong with a request, of which the first of each kind is reported, what is left out, and other names. */
type Findings = ReturnType<typeof createFindings>;

/** The others are counted: a header is no place for more, and a caller can send any number. */
const MAX_NAMED = 20;
const MAX_NAME_CHARS = 80;

/** A path that may stand in a header and in a list. */
const safe = (path: string) => path.slice(0, MAX_NAME_CHARS).replaceAll(/[^\w.[\]=-]/g, '?');

function createFindings() {
  let wrong: Untranslatable | null = null;
  let unsupported: Untranslatable | null = null;
  const named: string[] = [];
  let others = 0;
  const functions = new Map<string, FunctionName>();
  const watched: FieldReader[] = [];
  return {
    /** Once all is read, what the reader has not read is left out. */
    watch: (reader: FieldReader) => void watched.push(reader),
    /** @param must as in "must be a string" */
    bad(param: string, must: string) {
      const isBody = param === '';
      const message = `${isBody ? 'The body' : `'${param}'`} ${must}.`;
      wrong ??= { kind: 'bad_request', message, param: isBody ? null : param };
    },
    unsupported(field: string, why: string) {
      unsupported ??= { kind: 'unsupported', message: `'${field}': ${why}`, param: field };
    },
    dropped(field: string) {
      if (named.length < MAX_NAMED) named.push(safe(field));
      else others += 1;
    },
    /** The name that upstreams are told, which have no namespaces. */
    nameOf({ name, namespace }: FunctionName): string {
      const flat = namespace === undefined ? name : `${namespace}__${name}`;
      const sent = NAME.test(flat) ? flat : shortName(flat);
      if (sent !== name) functions.set(sent, { name, namespace });
      return sent;
    },
    result: (body: ChatBody): TranslationResult => {
      for (const reader of watched) reader.dropUnread();
      return wrong ?? unsupported ?? { kind: 'chat', body, dropped: { named, others }, functions };
    },
  };
}

/** Of a function, at OpenAI and Azure; an MCP tool may have dots, slashes and letters of any script, or a longer name. */
const NAME = /^[\w-]{1,64}$/;

/** 64 characters at most, and the same for the same name, whether it is offered or was called before. */
function shortName(name: string): string {
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${name.replaceAll(/[^\w-]/g, '_').slice(0, 55)}_${hash}`;
}

const NO_COUNTERPART =
  'chat completions have no counterpart; leave it out, or use an upstream that speaks this protocol itself.';

/** @param list names of fields, between blanks */
export const fieldNames = (list: string): ReadonlySet<string> => new Set(list.split(' '));

/** Of an object that has no field which may be left out without a word. */
export const NONE: ReadonlySet<string> = new Set();

export function bodyReader(body: unknown, silent: ReadonlySet<string>) {
  const findings = createFindings();
  if (isTooDeep(body)) findings.bad('', 'must not be nested so deeply');
  const reader = new FieldReader(isTooDeep(body) ? {} : body, '', findings, silent);
  return { reader, result: findings.result };
}

export type Json = Readonly<Record<string, unknown>>;

/** In both protocols, `null` means the same as leaving the field out. */
export const isAbsent = (value: unknown): value is undefined | null =>
  value === undefined || value === null;

/** Reads fields of an unchecked object. A value of the wrong type is reported and treated as absent. */
export class FieldReader {
  readonly #object: Json;
  readonly #path: string;
  readonly #findings: Findings;
  readonly #read = new Set<string>();
  #silent: ReadonlySet<string> | null = null;

  /** @param silent as for `watch`, which is not called if it is left out */
  constructor(value: unknown, path: string, findings: Findings, silent?: ReadonlySet<string>) {
    const isReadable = isObject(value);
    if (!isReadable) findings.bad(path, 'must be an object');
    this.#object = isReadable ? value : {};
    this.#path = path;
    this.#findings = findings;
    if (silent !== undefined) this.watch(silent);
  }

  /** From now on, each field that is set and never read is reported as left out, but for those that are silently so. */
  watch(silent: ReadonlySet<string>): void {
    this.#silent = silent;
    this.#findings.watch(this);
  }

  dropUnread(): void {
    const silent = this.#silent;
    if (silent === null) return;
    const unread = Object.keys(this.#object).filter((key) => !this.#read.has(key));
    for (const key of unread) if (!silent.has(key) && this.has(key)) this.drop(key);
  }

  /** The path of a field, as errors name it. */
  path(key: string): string {
    return this.#path === '' ? key : `${this.#path}.${key}`;
  }

  get(key: string): unknown {
    this.#read.add(key);
    return Object.hasOwn(this.#object, key) ? this.#object[key] : undefined;
  }

  has(key: string): boolean {
    return !isAbsent(this.get(key));
  }

  text(key: string): string | undefined {
    return this.#optional(key, 'a string', (value) => typeof value === 'string');
  }

  /** Empty if it is missing, which is reported. */
  requiredText(key: string): string {
    if (!this.has(key)) this.#findings.bad(this.path(key), 'must be a string');
    return this.text(key) ?? '';
  }

  /** The name of this function as upstreams are told it. */
  functionName(namespace?: string): string {
    return this.#findings.nameOf({ name: this.requiredText('name'), namespace });
  }

  number(key: string): number | undefined {
    return this.#optional(key, 'a number', (value) => typeof value === 'number');
  }

  flag(key: string): boolean | undefined {
    return this.#optional(key, 'true or false', (value) => typeof value === 'boolean');
  }

  object(key: string): Json | undefined {
    return this.#optional(key, 'an object', isObject);
  }

  /** Empty if it is absent. */
  list(key: string): readonly unknown[] {
    return this.#optional(key, 'an array', Array.isArray) ?? [];
  }

  /** The object at `key`, to be read in turn; null if it is absent. */
  inner(key: string, silent?: ReadonlySet<string>): FieldReader | null {
    return this.has(key) ? this.requiredInner(key, silent) : null;
  }

  /** As `inner`; of an empty object if it is missing, which is reported. */
  requiredInner(key: string, silent?: ReadonlySet<string>): FieldReader {
    return new FieldReader(this.get(key), this.path(key), this.#findings, silent);
  }

  /** The elements of a list of objects, to be read in turn. */
  elements(key: string, silent?: ReadonlySet<string>): FieldReader[] {
    const path = this.path(key);
    return this.list(key).map(
      (value, index) => new FieldReader(value, `${path}[${index}]`, this.#findings, silent),
    );
  }

  /** The parts of a content; a mere text is one. */
  parts(key: string, silent?: ReadonlySet<string>): FieldReader[] {
    const value = this.get(key);
    if (Array.isArray(value)) return this.elements(key, silent);
    if (typeof value === 'string')
      return [new FieldReader({ type: 'text', text: value }, this.path(key), this.#findings)];
    this.bad(key, 'must be a string or an array');
    return [];
  }

  /** A reader of another object, whose findings are reported under this one's path. */
  replacedBy(object: Json): FieldReader {
    return new FieldReader(object, this.#path, this.#findings);
  }

  bad(key: string, must: string): void {
    this.#findings.bad(this.path(key), must);
  }

  /** @param why a whole sentence */
  unsupported(key: string, why = NO_COUNTERPART): null {
    this.#findings.unsupported(this.path(key), why);
    return null;
  }

  drop(key: string): void {
    this.#findings.dropped(this.path(key));
  }

  /** Leaves the object itself out, which is of this type. */
  dropWhole(type: string): void {
    this.#silent = null;
    this.#findings.dropped(`${this.path('type')}=${type}`);
  }

  /** Reads the object by its type; undefined for one that chat completions have nothing like. @param what as in "an item" */
  byType<T>(
    what: string,
    readers: Readonly<Record<string, () => T>>,
    type = this.requiredText('type'),
  ): T | undefined {
    if (Object.hasOwn(readers, type)) return readers[type]?.();
    this.unsupported('type', `${what} of type '${type}' has no counterpart in chat completions.`);
    return undefined;
  }

  /** One of the values that chat completions know; another is left out, where the answer stays what was asked for. */
  oneOf(key: string, known: ReadonlySet<string>): string | undefined {
    const value = this.text(key);
    if (value === undefined || known.has(value)) return value;
    this.drop(key);
    return undefined;
  }

  #optional<T>(key: string, what: string, is: (value: unknown) => value is T): T | undefined {
    const value = this.get(key);
    if (isAbsent(value)) return undefined;
    if (is(value)) return value;
    this.bad(key, `must be ${what}`);
    return undefined;
  }
}

/** Sampling parameters, including engines' extensions. */
const SAMPLING: readonly string[] = [
  ...fieldNames('temperature top_p top_k min_p seed frequency_penalty presence_penalty'),
  ...fieldNames('repetition_penalty logit_bias chat_template_kwargs'),
];

/** Fields that both protocols name as chat completions do. What is undefined is not written. */
export function passedFields(reader: FieldReader): Record<string, unknown> {
  return {
    model: reader.text('model'),
    ...Object.fromEntries(SAMPLING.map((key) => [key, reader.get(key) ?? undefined])),
    ...(reader.flag('stream') === true && {
      stream: true,
      stream_options: { include_usage: true },
    }),
  };
}

export interface ChatTool {
  readonly type: 'function';
  readonly function: { readonly name: string; readonly [field: string]: unknown };
}

/** A function that the model may call; both protocols name these fields alike. */
export function chatTool(tool: FieldReader, fields: ChatTool['function']): ChatTool {
  if (tool.has('allowed_callers') && !tool.list('allowed_callers').includes('direct'))
    tool.unsupported('allowed_callers', 'only the model itself calls tools here.');
  return { type: 'function', function: { ...fields, strict: tool.flag('strict') } };
}

/** Choices that any tool or none may follow. */
const FREE_CHOICES: ReadonlySet<unknown> = fieldNames('none auto');

/** How a protocol offers functions among its tools. */
interface Offering {
  /** The choice of a tool, in the protocol's word. */
  readonly choice: unknown;
  readonly isOwn: (tool: FieldReader) => boolean;
  readonly read: (tool: FieldReader) => readonly ChatTool[];
  /** Whether agents add it to their own tools, and work without. */
  readonly isAdded: (tool: FieldReader, type: string) => boolean;
  /** As in "only functions are translated". */
  readonly only: string;
}

/** The tools of a request that are functions. */
export function offeredTools(
  reader: FieldReader,
  { choice, isOwn, read, isAdded, only }: Offering,
): readonly ChatTool[] {
  const all = reader.elements('tools');
  const areOthersEnough = FREE_CHOICES.has(choice ?? 'auto') && all.some(isOwn);
  return all.flatMap((tool) => {
    if (isOwn(tool)) return read(tool);
    const type = tool.requiredText('type');
    const why = `a tool of type '${type}' runs at its provider or has no counterpart in chat completions; only ${only} are translated.`;
    if (areOthersEnough && isAdded(tool, type)) tool.dropWhole(type);
    else tool.unsupported('type', why);
    return [];
  });
}

/** Some engines refuse the last two without tools, where they mean nothing. */
export const toolFields = (
  tools: readonly ChatTool[],
  tool_choice: string | object | undefined,
  parallel_tool_calls: boolean | undefined,
): object => (tools.length === 0 ? {} : { tools, tool_choice, parallel_tool_calls });

/** An answer in JSON by the schema of a format. */
export function schemaFormat(format: FieldReader, fields: object): object {
  if (!format.has('schema')) format.bad('schema', 'must be a JSON schema');
  const json_schema = { ...fields, schema: format.object('schema') };
  return { response_format: { type: 'json_schema', json_schema } };
}

const EFFORTS = fieldNames('none minimal low medium high xhigh max');

/** How hard the model should think. A newer word is left out, as engines refuse one that they do not know. */
export const readEffort = (reader: FieldReader): string | undefined =>
  reader.oneOf('effort', EFFORTS);

/** OpenAI answers 400, `string_above_max_length`, to a longer one; Claude Code's has some 180 characters. */
const MAX_USER_CHARS = 64;

/** Whom the caller asks for. A digest is the same for the same user, and tells providers no more than they need. */
export function userField(id: string | undefined): { readonly user?: string } {
  if (id === undefined) return {};
  const isShort = id.length <= MAX_USER_CHARS;
  return { user: isShort ? id : createHash('sha256').update(id).digest('hex') };
}

import { isObject, listOf, writeJson } from '../../platform/json.ts';
import { argumentsText } from './chat/calls.ts';
import { callsIn, ChunkRepair, deltaOf } from './chat/chunks.ts';
import type { ChunkText } from './stream-inspector.ts';

type Json = Record<string, unknown>;

/** Builds the whole answer that a caller asked for from the chunks of a stream, as they came. */
export interface Assembly {
  /** `chunk` is parsed JSON. */
  add(chunk: unknown): void;
  /** Adds a chunk that is as the last one but for this text; undefined where texts are told apart by more. */
  readonly addText?: (text: ChunkText) => void;
  /** True once a choice has a finish reason. */
  finished(): boolean;
  /** Why no answer can be built; null while one can. */
  problem(): string | null;
  /** As JSON; null if there is a problem. */
  result(): string | null;
}

/** An answer has a few dozen. Each field costs memory, however short it is. */
const MAX_FIELDS = 10_000;

/**
 * For an answer with one choice. Text fields are joined and the pieces of tool calls put together; of every other
 * field the last value counts, so that an engine's own additions (such as `timings`) reach the caller. The work for a
 * chunk depends on its own size alone.
 */
export function createAssembly(
  object: 'chat.completion' | 'text_completion' = 'chat.completion',
): Assembly {
  const budget = { fields: MAX_FIELDS, isTooDeep: false };
  const top = new Fields(budget);
  const choice = new Fields(budget);
  const message = new Fields(budget);
  const byIndex = new Map<unknown, Fields>();
  const repair = new ChunkRepair();
  let broken: string | null = null;

  choice.setLast('index', 0);
  choice.setLast('finish_reason', null);
  if (object === 'text_completion') choice.setLast('logprobs', null);
  message.setLast('role', 'assistant');
  message.setLast('content', null);

  function addToolCalls(pieces: unknown): void {
    for (const { index, ...piece } of callsIn(pieces)) {
      const call = byIndex.get(index) ?? new Fields(budget);
      byIndex.set(index, call);
      merge(call, piece);
    }
  }

  function problem(): string | null {
    if (budget.isTooDeep) return 'an answer nested too deep';
    return broken ?? (budget.fields === 0 ? `an answer of over ${MAX_FIELDS} fields` : null);
  }

  return {
    add(given) {
      const chunk = isObject(given) ? repair.take(given) : null;
      if (typeof chunk === 'string') broken ??= chunk;
      if (!isObject(chunk)) return;
      const { choices, ...rest } = chunk;
      setAllLast(top, rest);
      for (const part of listOf(choices)) {
        if (!isObject(part)) continue;
        const { delta, text, index: _index, ...others } = part;
        setAllLast(choice, others);
        if (typeof text === 'string') choice.addText('text', text);
        if (!isObject(delta)) continue;
        const { tool_calls: pieces, ...fields } = delta;
        addFields(message, fields);
        addToolCalls(pieces);
      }
    },
    addText: ({ key, text }) => message.addText(key, text),
    finished: () => choice.holds('finish_reason'),
    problem,
    result() {
      top.setLast('object', object);
      const calls = [...byIndex.values()];
      // Clients send a call back with its type.
      for (const call of calls) fill(call, 'type', 'function');
      if (calls.length > 0) message.set('tool_calls', listOfFields(calls));
      else if (!BESIDE_TEXT.some((key) => message.has(key))) fill(message, 'content', '');
      if (object === 'chat.completion') choice.set('message', message);
      else fill(choice, 'text', '');
      top.set('choices', listOfFields([choice]));
      return problem() === null ? top.json() : null;
    },
  };
}

function fill(fields: Fields, key: string, value: string): void {
  if (!fields.holds(key)) fields.set(key, written(JSON.stringify(value)));
}

/** With one of these `content` may be null. */
const BESIDE_TEXT = ['function_call', 'audio', 'refusal'];

const listOfFields = (elements: readonly Fields[]): FieldValue =>
  written(`[${elements.map((each) => each.json()).join(',')}]`);

function setAllLast(target: Fields, source: Readonly<Json>): void {
  for (const [key, value] of Object.entries(source)) target.setLast(key, value);
}

function addFields(message: Fields, delta: Readonly<Json>): void {
  for (const [key, value] of Object.entries(delta)) {
    if (value === null || value === undefined) continue;
    // Z.ai sends an empty one with each chunk (vercel/ai#15464).
    if (key === 'role') continue;
    if (key === 'function_call' && isObject(value)) merge(message.inner(key), value);
    else if (typeof value === 'string') message.addText(key, value);
    else if (IN_PIECES.has(key) && Array.isArray(value)) message.addPieces(key, value);
    else if (Array.isArray(value)) message.addElements(key, value);
    else message.setLast(key, value);
  }
}

/** Lists of parts, and LiteLLM's and OpenRouter's of thoughts. */
const IN_PIECES: ReadonlySet<string> = new Set(['content', 'thinking_blocks', 'reasoning_details']);

/** Arguments arrive in pieces; of all else the last value that is not empty counts. */
function merge(known: Fields, piece: Readonly<Json>, depth = 0): void {
  for (const [key, value] of Object.entries(piece)) {
    if (value === null || value === undefined) continue;
    if (key === 'arguments') known.addText(key, argumentsText(value));
    else if (isObject(value) && depth === 0) merge(known.inner(key), value, 1);
    else known.setLast(key, value);
  }
}

/** A whole answer as one chunk, and one more for its usage if that is asked for. */
export function chunksOf(answer: Readonly<Json>, includeUsage: boolean): readonly object[] {
  const { choices, usage, ...rest } = answer;
  const chunk = {
    ...rest,
    object: 'chat.completion.chunk',
    choices: listOf(choices).map((choice) => {
      if (!isObject(choice)) return choice;
      const { message, ...others } = choice;
      return { ...others, delta: deltaOf(message) };
    }),
  };
  return includeUsage ? [chunk, { ...chunk, choices: [], usage: usage ?? null }] : [chunk];
}

/** A member of an answer that arrives in pieces. */
interface FieldValue {
  /** Neither null nor empty. */
  readonly isFilled: boolean;
  json(): string;
}

/** What is not joined is kept as JSON: parsed, it can take twenty times its bytes. */
const written = (json: string, isFilled = true): FieldValue => ({ isFilled, json: () => json });

/** A text is encoded as it grows, because the end of an answer is one turn of the event loop. */
const MAX_UNWRITTEN_CHARS = 16 * 1024;

class Text implements FieldValue {
  isFilled = false;
  #json = '';
  #unwritten = '';

  add(text: string): void {
    this.isFilled ||= text !== '';
    this.#unwritten += text;
    if (this.#unwritten.length >= MAX_UNWRITTEN_CHARS) this.#write();
  }

  json(): string {
    this.#write();
    return `"${this.#json}"`;
  }

  /** Surrogates separated here are encoded as escapes, which join again. */
  #write(): void {
    this.#json += JSON.stringify(this.#unwritten).slice(1, -1);
    this.#unwritten = '';
  }
}

/** Texts of an element that go on in its next piece, or lists of such elements. */
const GROWING: readonly string[] = ['text', 'thinking', 'summary'];

/**
 * A list, whose elements may come in pieces: neighbours of one kind are one. Mistral's reasoning models send a content as
 * lists while they think and as strings afterwards, and citations as lists between strings (symfony/ai#2424). Thoughts
 * come with the signature in the last piece: clients send each back as one block, which its host refuses without its
 * text or its signature (strands-agents/harness-sdk#1789, pensarai/apex#534).
 */
class Pieces implements FieldValue {
  readonly isFilled = true;
  /** The elements that are whole, as JSON. */
  #closed = '';
  readonly #budget: FieldBudget;
  #open: { readonly type: unknown; readonly index: unknown; readonly fields: Fields } | null = null;

  /** @param begun a text that came before, as the first element */
  constructor(budget: FieldBudget, begun: Text | null) {
    this.#budget = budget;
    if (begun === null) return;
    const { fields } = this.#begun({ type: 'text' });
    fields.setLast('type', 'text');
    fields.set('text', begun);
  }

  add(piece: unknown): void {
    if (!isObject(piece)) return;
    const { fields } = this.#goesOn(piece) ?? this.#begun(piece);
    for (const [key, value] of Object.entries(piece)) {
      const isGrowing = GROWING.includes(key);
      if (isGrowing && typeof value === 'string') fields.addText(key, value);
      else if (isGrowing && Array.isArray(value)) fields.addPieces(key, value);
      else fields.setLast(key, value);
    }
  }

  addWhole(json: string): void {
    this.#close();
    this.#closed += this.#closed === '' ? json : `,${json}`;
  }

  json(): string {
    this.#close();
    return `[${this.#closed}]`;
  }

  #goesOn({ type, index }: Readonly<Json>) {
    const open = this.#open;
    const isSame = open !== null && open.type === type && open.index === index;
    // Encrypted ones have no text, and come whole.
    const mayGrow = isSame && GROWING.some((key) => open.fields.has(key));
    return mayGrow && !open.fields.holds('signature') ? open : null;
  }

  #begun({ type, index }: Readonly<Json>) {
    this.#close();
    return (this.#open = { type, index, fields: new Fields(this.#budget) });
  }

  #close(): void {
    const open = this.#open;
    this.#open = null;
    if (open !== null) this.addWhole(open.fields.json());
  }
}

/** Shared by all fields of an answer. */
interface FieldBudget {
  /** Number of further fields allowed. */
  fields: number;
  /** A value was nested too deep to be encoded. */
  isTooDeep: boolean;
}

/**
 * The members of an object that arrives in pieces; those beyond the budget are dropped. The work of a call depends on its
 * arguments' size alone.
 */
class Fields implements FieldValue {
  readonly isFilled = true;
  readonly #budget: FieldBudget;
  readonly #values = new Map<string, FieldValue>();

  constructor(budget: FieldBudget) {
    this.#budget = budget;
  }

  has(key: string): boolean {
    return this.#values.has(key);
  }

  /** Whether it has a value that is neither null nor empty. */
  holds(key: string): boolean {
    return this.#values.get(key)?.isFilled ?? false;
  }

  set(key: string, value: FieldValue): void {
    if (!this.#values.has(key)) {
      if (this.#budget.fields === 0) return;
      this.#budget.fields -= 1;
    }
    this.#values.set(key, value);
  }

  /** `usage: null` on later chunks must not erase the value, nor an empty id that of the others (Azure's first and last chunk). */
  setLast(key: string, value: unknown): void {
    const isFilled = value !== null && value !== '';
    if (isFilled || !this.has(key)) this.set(key, written(this.#encoded(value), isFilled));
  }

  /** Appends to a text, or to a list of parts; any other value is replaced. */
  addText(key: string, text: string): void {
    const known = this.#values.get(key);
    if (known instanceof Pieces && text !== '') known.add({ type: 'text', text });
    else if (!(known instanceof Pieces)) this.#at(key, Text, () => new Text()).add(text);
  }

  /** Appends to a list; any other value is replaced. */
  addElements(key: string, elements: readonly unknown[]): void {
    const list = this.#at(key, Pieces, () => new Pieces(this.#budget, null));
    for (const element of elements) list.addWhole(this.#encoded(element));
  }

  /** As `addElements`, of elements in pieces: a text that is there becomes the first of them. */
  addPieces(key: string, added: readonly unknown[]): void {
    const pieces = this.#at(key, Pieces, (known) => {
      const begun = known instanceof Text && known.isFilled ? known : null;
      return new Pieces(this.#budget, begun);
    });
    for (const piece of added) pieces.add(piece);
  }

  /** The object at `key`; any other value is replaced. */
  inner(key: string): Fields {
    return this.#at(key, Fields, () => new Fields(this.#budget));
  }

  json(): string {
    const members = [...this.#values].map(
      ([key, value]) => `${JSON.stringify(key)}:${value.json()}`,
    );
    return `{${members.join(',')}}`;
  }

  /** The value at `key` if it is of that kind, else a new one in its place. */
  #at<T extends FieldValue>(
    key: string,
    kind: abstract new (...args: never) => T,
    create: (known: FieldValue | undefined) => T,
  ): T {
    const known = this.#values.get(key);
    if (known instanceof kind) return known;
    const value = create(known);
    this.set(key, value);
    return value;
  }

  #encoded(value: unknown): string {
    const json = writeJson(value);
    if (json === null) this.#budget.isTooDeep = true;
    return json ?? 'null';
  }
}

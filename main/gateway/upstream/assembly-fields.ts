import { writeJson } from './completion.ts';

/** A growing JSON text; its memory is little more than its bytes. */
export interface JsonText {
  add(text: string): void;
  addBytes(bytes: readonly Buffer[]): void;
  bytes(): Buffer;
  /** Everything so far, in pieces. */
  pieces(): readonly Buffer[];
}

/** Texts are joined up to this length before they are encoded; a buffer for each token would cost far more. */
const MAX_JOINED_CHARS = 16 * 1024;

const unchanged = (text: string) => text;

/** A JSON string without its quotes. Surrogates separated here are encoded as escapes, which join again. */
const escaped = (text: string) => JSON.stringify(text).slice(1, -1);

/** @param encode turns added text into JSON */
export function createJsonText(encode: (text: string) => string = unchanged): JsonText {
  const blocks: Buffer[] = [];
  let joined = '';

  function flush(): void {
    if (joined !== '') blocks.push(Buffer.from(encode(joined)));
    joined = '';
  }

  return {
    add(text) {
      joined += text;
      if (joined.length >= MAX_JOINED_CHARS) flush();
    },
    addBytes(bytes) {
      flush();
      for (const each of bytes) blocks.push(each);
    },
    bytes() {
      flush();
      return Buffer.concat(blocks);
    },
    pieces() {
      flush();
      return blocks;
    },
  };
}

export interface FieldValue {
  write(out: JsonText): void;
}

/** Shared by all fields of an answer. */
export interface FieldBudget {
  /** Number of further fields allowed. */
  fields: number;
  /** A value was nested too deep to be encoded. */
  isTooDeep: boolean;
}

/** The members of an object that arrives in pieces. The work of a call depends on its arguments' size alone. */
export interface Fields extends FieldValue {
  has(key: string): boolean;
  set(key: string, value: FieldValue): void;
  setLast(key: string, value: unknown): void;
  /** Appends to a text; any other value is replaced. */
  addText(key: string, text: string): void;
  /** Appends to a list; any other value is replaced. */
  addElements(key: string, elements: readonly unknown[]): void;
  /** The object at `key`; any other value is replaced. */
  inner(key: string): Fields;
}

/** An empty object; fields beyond the budget are dropped. */
export function createFields(budget: FieldBudget): Fields {
  return new FieldMap(budget);
}

class Text implements FieldValue {
  readonly #text = createJsonText(escaped);
  add(text: string): void {
    this.#text.add(text);
  }
  write(out: JsonText): void {
    out.add('"');
    out.addBytes(this.#text.pieces());
    out.add('"');
  }
}

class List implements FieldValue {
  readonly #elements = createJsonText();
  #isEmpty = true;
  add(json: string): void {
    if (!this.#isEmpty) this.#elements.add(',');
    this.#elements.add(json);
    this.#isEmpty = false;
  }
  write(out: JsonText): void {
    out.add('[');
    out.addBytes(this.#elements.pieces());
    out.add(']');
  }
}

/** Longer texts are encoded at once, because all that is left is encoded in one turn of the event loop. */
const MAX_UNWRITTEN_CHARS = 1024;

/** The last value of a field. */
class LastValue implements FieldValue {
  readonly #value: unknown;
  readonly #json: Buffer | null;
  constructor(value: unknown, json: string | null) {
    this.#value = json === null ? value : null;
    this.#json = json === null ? null : Buffer.from(json);
  }
  write(out: JsonText): void {
    if (this.#json === null) out.add(JSON.stringify(this.#value));
    else out.addBytes([this.#json]);
  }
}

class FieldMap implements Fields {
  readonly #budget: FieldBudget;
  readonly #values = new Map<string, FieldValue>();

  constructor(budget: FieldBudget) {
    this.#budget = budget;
  }

  has(key: string): boolean {
    return this.#values.has(key);
  }

  set(key: string, value: FieldValue): void {
    if (!this.#values.has(key)) {
      if (this.#budget.fields === 0) return;
      this.#budget.fields -= 1;
    }
    this.#values.set(key, value);
  }

  setLast(key: string, value: unknown): void {
    const isText = typeof value === 'string';
    const isSmall = isText ? value.length <= MAX_UNWRITTEN_CHARS : typeof value !== 'object';
    if (value === null || isSmall) this.set(key, new LastValue(value, null));
    else this.set(key, new LastValue(null, this.#encoded(value)));
  }

  addText(key: string, text: string): void {
    let known = this.#values.get(key);
    if (!(known instanceof Text)) this.set(key, (known = new Text()));
    if (known instanceof Text) known.add(text);
  }

  addElements(key: string, elements: readonly unknown[]): void {
    let known = this.#values.get(key);
    if (!(known instanceof List)) this.set(key, (known = new List()));
    if (!(known instanceof List)) return;
    for (const element of elements) known.add(this.#encoded(element));
  }

  inner(key: string): Fields {
    const known = this.#values.get(key);
    if (known instanceof FieldMap) return known;
    const inner = new FieldMap(this.#budget);
    this.set(key, inner);
    return inner;
  }

  write(out: JsonText): void {
    let separator = '{';
    for (const [key, value] of this.#values) {
      out.add(`${separator}${JSON.stringify(key)}:`);
      value.write(out);
      separator = ',';
    }
    out.add(this.#values.size === 0 ? '{}' : '}');
  }

  #encoded(value: unknown): string {
    const json = writeJson(value);
    if (json === null) this.#budget.isTooDeep = true;
    return json ?? 'null';
  }
}

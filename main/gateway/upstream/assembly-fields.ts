import { writeJson } from './completion.ts';

/** JSON that grows to any length: its bytes, and little more. */
export interface Growing {
  add(text: string): void;
  addBytes(bytes: readonly Buffer[]): void;
  bytes(): Buffer;
  /** Everything so far, in pieces; what is added later is not among them. */
  pieces(): readonly Buffer[];
}

/** Texts are joined up to this length before they become bytes: a text for each token is no bytes. */
const MAX_JOINED_CHARS = 16 * 1024;

const asItIs = (text: string) => text;

/** The inside of a JSON text. Halves of a pair that are parted here are written as escapes, which join again. */
const escaped = (text: string) => JSON.stringify(text).slice(1, -1);

/** Makes one; `encode` is how what is added becomes JSON. */
export function createGrowing(encode: (text: string) => string = asItIs): Growing {
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

/** A value of a field, which can write itself as JSON. */
export interface FieldValue {
  write(out: Growing): void;
}

/** What all fields of an answer share. */
export interface FieldBudget {
  /** New fields that may still come. */
  fields: number;
  /** A value came that cannot be written. */
  isTooDeep: boolean;
}

/** The members of an object that comes in pieces. Each call costs what it brings. */
export interface Fields extends FieldValue {
  has(key: string): boolean;
  set(key: string, value: FieldValue): void;
  takeLast(key: string, value: unknown): void;
  /** Goes on with the text that is there; anything else is replaced. */
  addText(key: string, text: string): void;
  /** Goes on with the list that is there; anything else is replaced. */
  addElements(key: string, elements: readonly unknown[]): void;
  /** The object that is there; anything else is replaced. */
  inner(key: string): Fields;
}

/** Makes an empty object. Beyond the budget new fields are left out. */
export function createFields(budget: FieldBudget): Fields {
  return new FieldMap(budget);
}

class Text implements FieldValue {
  readonly #text = createGrowing(escaped);
  add(text: string): void {
    this.#text.add(text);
  }
  write(out: Growing): void {
    out.add('"');
    out.addBytes(this.#text.pieces());
    out.add('"');
  }
}

class List implements FieldValue {
  readonly #elements = createGrowing();
  #isEmpty = true;
  add(json: string): void {
    if (!this.#isEmpty) this.#elements.add(',');
    this.#elements.add(json);
    this.#isEmpty = false;
  }
  write(out: Growing): void {
    out.add('[');
    out.addBytes(this.#elements.pieces());
    out.add(']');
  }
}

/** A text beyond this is written as it comes: all that is kept is to be written in one turn of the event loop. */
const MAX_UNWRITTEN_CHARS = 1024;

/** A value as it came last. */
class Last implements FieldValue {
  readonly #value: unknown;
  readonly #json: Buffer | null;
  constructor(value: unknown, json: string | null) {
    this.#value = json === null ? value : null;
    this.#json = json === null ? null : Buffer.from(json);
  }
  write(out: Growing): void {
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

  takeLast(key: string, value: unknown): void {
    const isText = typeof value === 'string';
    const isSmall = isText ? value.length <= MAX_UNWRITTEN_CHARS : typeof value !== 'object';
    if (value === null || isSmall) this.set(key, new Last(value, null));
    else this.set(key, new Last(null, this.#written(value)));
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
    for (const element of elements) known.add(this.#written(element));
  }

  inner(key: string): Fields {
    const known = this.#values.get(key);
    if (known instanceof FieldMap) return known;
    const inner = new FieldMap(this.#budget);
    this.set(key, inner);
    return inner;
  }

  write(out: Growing): void {
    let separator = '{';
    for (const [key, value] of this.#values) {
      out.add(`${separator}${JSON.stringify(key)}:`);
      value.write(out);
      separator = ',';
    }
    out.add(this.#values.size === 0 ? '{}' : '}');
  }

  #written(value: unknown): string {
    const json = writeJson(value);
    if (json === null) this.#budget.isTooDeep = true;
    return json ?? 'null';
  }
}

import { randomUUID } from 'node:crypto';
import {
  isObject,
  isTooDeep,
  memberOf,
  parseExactJson,
  parseJson,
} from '../../../platform/json.ts';

/** A piece of a tool call, or a whole one. */
export interface CallPiece {
  /** Null where the upstream sends none. */
  readonly index: number | string | null;
  readonly id: string;
  readonly name: string;
  /** JSON, or a part of it. */
  readonly arguments: string;
}

export function callPieceOf(call: Readonly<Record<string, unknown>>): CallPiece {
  const { index, id } = call;
  const name = memberOf(call, 'function', 'name');
  return {
    index: typeof index === 'number' || typeof index === 'string' ? index : null,
    id: typeof id === 'string' ? id : '',
    name: typeof name === 'string' ? name : '',
    arguments: argumentsText(memberOf(call, 'function', 'arguments')),
  };
}

/** Some engines send an object instead of its JSON: llama.cpp early in 2026 (ggml-org/llama.cpp#20198), TGI. */
export function argumentsText(value: unknown): string {
  if (typeof value === 'string') return value;
  return isObject(value) ? JSON.stringify(value) : '';
}

/** OpenAI takes up to 40 characters (vercel/ai#5171). */
export const newCallId = (): string => `call_${randomUUID().replaceAll('-', '')}`;

/** What is new of a call. */
export interface PlacedPiece {
  readonly place: number;
  /** The call's own: what the upstream calls it, or a new one where that is empty or was used before. */
  readonly id: string;
  readonly isFirst: boolean;
  /** Of the arguments. */
  readonly text: string;
}

export type CallOrder = ReturnType<typeof createCallOrder>;

interface KnownCall extends Pick<PlacedPiece, 'place' | 'id'> {
  /** As the upstream names it. */
  given: string;
  name: string;
  /** Whether a piece of it was told. */
  isTold: boolean;
  /** Arguments that came before the name. */
  early: string;
  /** The arguments so far; null where they are too long to be kept. */
  text: string | null;
  readonly progress: JsonProgress;
}

/** Requests ask for a few; each takes memory. */
const MAX_CALLS = 10_000;

/** Of all calls of an answer together: an answer may have any length, and is not kept otherwise. */
const MAX_KEPT_CHARS = 256 * 1024;

/**
 * An id goes before an index: Ollama up to 0.20 sends `index: 0` with every call of a batch (ollama/ollama#15457), Gemini
 * sends no index (THU-MAIC/OpenMAIC#1556). A new id without a name does not begin a call: older vLLM invented one for
 * each piece. Work is linear in the arguments.
 */
export function createCallOrder() {
  const byId = new Map<string, KnownCall>();
  const byIndex = new Map<number | string, KnownCall>();
  const all: KnownCall[] = [];
  let latest: KnownCall | null = null;
  let keptChars = 0;

  function known(piece: CallPiece): KnownCall | null {
    const { id, index, name } = piece;
    const named = id === '' ? undefined : byId.get(id);
    // Some engines give all calls one id.
    const isUsed = name !== '' && named?.progress.isWhole() === true;
    if (named !== undefined) return isUsed ? null : named;
    const at = (index === null ? latest : byIndex.get(index)) ?? null;
    if (at === null || name === '') return at;
    return isAnother(piece, at) ? null : at;
  }

  /** Some hosts repeat the name with each piece (lobehub/lobehub#11219), and only the first time with an id. */
  function isAnother({ id, index, name, arguments: text }: CallPiece, at: KnownCall): boolean {
    const isBehind = at.progress.isWhole() && text.trim() !== '';
    const isRenamed = index === null && at.name !== name && at.name !== '';
    return isBehind || (id !== '' && at.given !== '') || isRenamed;
  }

  function begun({ id: given, name }: CallPiece): KnownCall {
    const id = given === '' || byId.has(given) ? newCallId() : given;
    const untold = { isTold: false, early: '', text: '' };
    const progress = createJsonProgress();
    const call: KnownCall = { place: all.length, given, name, id, ...untold, progress };
    all.push(call);
    return call;
  }

  function keep(call: KnownCall, text: string): void {
    if (text === '' || call.text === null) return;
    keptChars += text.length;
    call.text = keptChars > MAX_KEPT_CHARS ? null : call.text + text;
  }

  /**
   * LiteLLM tells each call once more when it is whole, its JSON as a JSON text (BerriAI/litellm#20480), others its
   * arguments (lidge-jun/opencodex#361): as a second call, the tool would run twice.
   */
  function isRepeated({ id, index, name, arguments: text }: CallPiece): boolean {
    if (id === '' && name !== '') return false;
    const at = id === '' ? (index === null ? latest : byIndex.get(index)) : byId.get(id);
    if (at?.progress.isWhole() !== true || (name !== '' && name !== at.name)) return false;
    return text === at.text || (text.startsWith('"') && parseJson(text) === at.text);
  }

  return {
    /** Null if nothing is new, or without a name as yet; a text if the answer is broken. */
    take(piece: CallPiece): PlacedPiece | string | null {
      if (isRepeated(piece)) return null;
      const { id, index } = piece;
      const before = known(piece);
      // Nothing tells whose arguments they are.
      if (before?.progress.isWhole() === true && piece.arguments.trim() !== '')
        return 'tool calls that cannot be told apart';
      if (before === null && all.length === MAX_CALLS) return 'too many tool calls';
      const call = before ?? begun(piece);
      if (call.name === '') call.name = piece.name;
      if (call.given === '') call.given = id;
      if (id !== '' && id === call.given) byId.set(id, call);
      if (index !== null) byIndex.set(index, call);
      latest = call;
      keep(call, piece.arguments);
      call.early += call.progress.add(piece.arguments);
      if (call.name === '') return null;
      const placed = { place: call.place, id: call.id, isFirst: !call.isTold, text: call.early };
      call.isTold = true;
      call.early = '';
      return placed;
    },
    /** At the end of the answer the places of calls without arguments; a text if it is broken. */
    end() {
      if (all.some(({ name }) => name === '')) return 'a tool call without a name';
      return all.filter(({ text }) => text?.trim() === '').map(({ place }) => place);
    },
    /** Whether the arguments of a call end in the middle. */
    isCut: () => all.some(({ progress }) => progress.isCut()),
  };
}

type JsonProgress = ReturnType<typeof createJsonProgress>;

const CONTROLS = /\p{Cc}/u;
const escaped = (control: string) => JSON.stringify(control).slice(1, -1);

function createJsonProgress() {
  let depth = 0;
  let hasBegun = false;
  let isText = false;
  let isEscaped = false;
  return {
    /** The same with line breaks in strings escaped, as vLLM and Gemini send them (mistralai/mistral-vibe#615, rhesis#2488). */
    add(text: string): string {
      const hasControls = CONTROLS.test(text);
      let right = '';
      for (const character of text) {
        if (hasControls) right += isText && character < ' ' ? escaped(character) : character;
        if (isEscaped) isEscaped = false;
        else if (isText) {
          isEscaped = character === '\\';
          isText = character !== '"';
        } else if (character === '"') isText = true;
        else if (character === '{' || character === '[') {
          depth += 1;
          hasBegun = true;
        } else if (character === '}' || character === ']') depth -= 1;
      }
      return hasControls ? right : text;
    },
    isWhole: () => hasBegun && depth === 0 && !isText,
    isCut: () => hasBegun && (depth > 0 || isText),
  };
}

export interface PartialCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: TextBuilder;
  /** Of the arguments: some upstreams name all calls before the first arguments come. */
  readonly progress: JsonProgress;
  isClosed: boolean;
}

/** The calls of an answer that was repaired: their pieces are numbered, and the first has the id and the name. */
export function createPartialCalls() {
  const calls = new Map<unknown, PartialCall>();
  return {
    /** `added`: what the piece adds to the arguments. */
    add({ index, id, name, arguments: json }: CallPiece) {
      const known = calls.get(index);
      const progress = known?.progress ?? createJsonProgress();
      const call = known ?? { id, name, arguments: new TextBuilder(), progress, isClosed: false };
      calls.set(index, call);
      // Whitespace may follow the end of a JSON text.
      const added = call.isClosed ? '' : json;
      call.arguments.add(added);
      progress.add(added);
      return { call, isNew: known === undefined, added };
    },
    get size() {
      return calls.size;
    },
  };
}

/** A call's arguments as an object; undefined if they are incomplete, or if no client could use them. */
export function argumentsObject(json: string): object | undefined {
  if (json.trim() === '') return {};
  const value = parseExactJson(json);
  return isObject(value) && !isTooDeep(value) ? value : undefined;
}

/** Each piece of a concatenated string takes about 40 bytes until the string is flattened. */
const MAX_JOINED_CHARS = 16 * 1024;

/** A text that grows token by token, using little more memory than its characters. */
export class TextBuilder {
  readonly #flat: string[] = [];
  #joined = '';

  add(piece: string): void {
    this.#joined += piece;
    if (this.#joined.length < MAX_JOINED_CHARS) return;
    // UTF-16 can hold everything that a JSON string can, even half a surrogate pair.
    this.#flat.push(Buffer.from(this.#joined, 'utf16le').toString('utf16le'));
    this.#joined = '';
  }

  text(): string {
    return this.#flat.join('') + this.#joined;
  }
}

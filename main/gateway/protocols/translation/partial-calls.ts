import { isObject, isTooDeep, parseExactJson } from '../../../platform/json.ts';
import { type CallPiece, createCallOrder } from '../chat/calls.ts';
import { ByteBuffer } from '../../../platform/byte-buffer.ts';

export interface PartialCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: TextBuilder;
  isClosed: boolean;
}

type AddedPiece =
  | {
      readonly kind: 'added';
      readonly call: PartialCall;
      readonly isNew: boolean;
      /** What the piece adds to the arguments. */
      readonly added: string;
    }
  /** The reason to fail the answer. */
  | { readonly kind: 'problem'; readonly problem: string };

const NO_NAME = 'The upstream called a tool without its name.';
const ADDED_LATE = 'The upstream added arguments to a tool call that was complete.';
const MIXED_UP = 'The upstream sent tool calls that cannot be told apart.';

const problem = (words: string): AddedPiece => ({ kind: 'problem', problem: words });

/** @param exchangeId used for the ids of calls to which the upstream gave no id, or one that it used before */
export function createPartialCalls(exchangeId: string) {
  const calls: PartialCall[] = [];
  // As short as in `newCallId`.
  const own = exchangeId.replaceAll('-', '').slice(0, 24);
  const order = createCallOrder((place) => `call_${own}_${place}`);

  function begin(id: string, { name }: CallPiece): PartialCall {
    const call = { id, name, arguments: new TextBuilder(), isClosed: false };
    calls.push(call);
    return call;
  }

  return {
    add(piece: CallPiece): AddedPiece {
      const at = order.placeOf(piece);
      if (at.kind !== 'place') return problem(MIXED_UP);
      const { isNew } = at;
      const call = calls[at.place] ?? begin(at.id, piece);
      if (call.name === '') return problem(NO_NAME);
      // Whitespace may follow the end of a JSON text.
      const added = call.isClosed ? '' : piece.arguments;
      if (added === '' && piece.arguments.trim() !== '') return problem(ADDED_LATE);
      call.arguments.add(added);
      return { kind: 'added', call, isNew, added };
    },
    get size() {
      return calls.length;
    },
  };
}

/** Whether nothing can follow. Some upstreams name all calls before the first arguments come. */
export const isWholeCall = ({ arguments: args }: PartialCall): boolean =>
  args.text().trim() !== '' && argumentsObject(args.text()) !== undefined;

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
  /** UTF-16, which can hold everything that a JSON string can, even half a surrogate pair. */
  readonly #flat = new ByteBuffer();
  #joined = '';

  add(piece: string): void {
    this.#joined += piece;
    if (this.#joined.length < MAX_JOINED_CHARS) return;
    this.#flat.add(Buffer.from(this.#joined, 'utf16le'));
    this.#joined = '';
  }

  text(): string {
    if (this.#flat.length === 0) return this.#joined;
    return this.#flat.copy().toString('utf16le') + this.#joined;
  }
}

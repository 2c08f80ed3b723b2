/**
 * A hash of the bytes so far, whatever pieces they came in. It need not withstand whoever forges it. WebAssembly has the
 * multiplications of 64 bits that make it twice as quick as `zlib.crc32` (docs/contributing/decisions/affinity.md).
 */
export interface RollingHash {
  add(bytes: Buffer, start: number, end: number): void;
  /** Of all bytes so far; a safe integer. */
  key(): number;
  /** Bytes so far. */
  length(): number;
}

const LANES = 4;
const BLOCK_BYTES = 8 * LANES;

/* Instructions (webassembly.github.io/spec/core/binary/instructions.html). */
const I32 = 0x7f;
const I64 = 0x7e;
const F64 = 0x7c;
const VOID = 0x40;
const END = [0x0b];
const LOOP = [0x03, VOID];
const REPEAT_IF = [0x0d, 0];
const get = (local: number) => [0x20, local];
const set = (local: number) => [0x21, local];
const load = (offset: number) => [0x29, 3, offset];
const store = (offset: number) => [0x37, 3, offset];
const i32 = (small: number) => [0x41, small];
const I32_IS_LESS = [0x49];
const I32_ADD = [0x6a];
const i64 = (small: number) => [0x42, small];
const I64_OF_I32 = [0xad];
const I64_ADD = [0x7c];
const I64_MULTIPLY = [0x7e];
const I64_XOR = [0x85];
const I64_SHIFT_RIGHT = [0x88];
const I64_ROTATE = [0x89];
const F64_OF_I64 = [0xba];

/** Those of XXH64 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md), as signed LEB128. */
const FACTOR_1 = [0x42, 0x87, 0x95, 0xaf, 0xaf, 0x98, 0xb6, 0xde, 0x9b, 0x9e, 0x7f];
const FACTOR_2 = [0x42, 0xcf, 0xd6, 0xd3, 0xbe, 0xd2, 0xc7, 0xab, 0xd9, 0x42];
const ROUND_BITS = 31;
const MERGE_BITS = [1, 7, 12, 18];

/**
 * `mix(end, to, length)`. The memory begins with the lanes, then come the blocks up to `end`, of which each lane takes 8 bytes
 * as in XXH64: lane = rotated(lane + bytes * FACTOR_2) * FACTOR_1. The lanes are stored at `to`; the result is made of them
 * and of `length`, its upper 53 bits.
 */
function mixing(): readonly number[] {
  const [end, to, length, at, sum, first] = [0, 1, 2, 3, 4, 5];
  const each = (code: (lane: number, index: number) => readonly (readonly number[])[]) =>
    Array.from({ length: LANES }, (_, index) => code(first + index, index)).flat(2);
  const times = (factor: readonly number[]) => [...factor, ...I64_MULTIPLY];
  const rotated = (bits: number) => [...i64(bits), ...I64_ROTATE];
  const blocks = [
    each((lane, index) => [
      [...get(lane), ...get(at), ...load(8 * index), ...times(FACTOR_2), ...I64_ADD],
      [...rotated(ROUND_BITS), ...times(FACTOR_1), ...set(lane)],
    ]),
    [...get(at), ...i32(BLOCK_BYTES), ...I32_ADD, ...set(at)],
    [...get(at), ...get(end), ...I32_IS_LESS, ...REPEAT_IF, ...END],
  ];
  const result = [
    [...get(length), ...I64_OF_I32],
    each((lane, index) => [get(lane), rotated(MERGE_BITS[index] ?? 0), I64_ADD]),
    [...set(sum), ...get(sum), ...get(sum), ...i64(33), ...I64_SHIFT_RIGHT, ...I64_XOR],
    [...times(FACTOR_2), ...i64(11), ...I64_SHIFT_RIGHT, ...F64_OF_I64],
  ];
  return [
    [2, 1, I32, 1 + LANES, I64],
    each((lane, index) => [i32(0), load(8 * index), set(lane)]),
    [...i32(BLOCK_BYTES), ...set(at), ...LOOP],
    ...blocks,
    each((lane, index) => [get(to), get(lane), store(8 * index)]),
    ...result,
    END,
  ].flat();
}

/** A module that exports `mix` and one page of memory. */
function moduleOf(code: readonly number[]): Uint8Array {
  const sized = (bytes: readonly number[]) => [
    (bytes.length % 128) | 128,
    bytes.length >> 7,
    ...bytes,
  ];
  const named = (name: string) => [name.length, ...Buffer.from(name)];
  const start = [0, ...Buffer.from('asm'), 1, 0, 0, 0];
  const types = [1, ...sized([1, 0x60, 3, I32, I32, I32, 1, F64])];
  const functions = [3, ...sized([1, 0])];
  const memories = [5, ...sized([1, 0, 1])];
  const exported = [7, ...sized([2, ...named('memory'), 2, 0, ...named('mix'), 0, 0])];
  const codes = [10, ...sized([1, ...sized(code)])];
  return Uint8Array.from([start, types, functions, memories, exported, codes].flat());
}

/** As far as it is used here; TypeScript has it among the types of browsers. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => {
    readonly exports: {
      readonly memory: { readonly buffer: ArrayBuffer };
      readonly mix: (end: number, to: number, length: number) => number;
    };
  };
};

const { memory, mix } = new WebAssembly.Instance(new WebAssembly.Module(moduleOf(mixing())))
  .exports;
const ASIDE = memory.buffer.byteLength - BLOCK_BYTES;
const lanes = Buffer.from(memory.buffer, 0, BLOCK_BYTES);
/** Bytes that have yet to be mixed. */
const room = Buffer.from(memory.buffer, BLOCK_BYTES, ASIDE - BLOCK_BYTES);

/** All share one memory: what was created before is of no use any more. */
export function createRollingHash(): RollingHash {
  let length = 0;
  let filled = 0;
  lanes.fill('switchyard');

  function mixBlocks(): void {
    if (filled < BLOCK_BYTES) return;
    const rest = filled % BLOCK_BYTES;
    mix(BLOCK_BYTES + filled - rest, 0, 0);
    room.copyWithin(0, filled - rest, filled);
    filled = rest;
  }

  return {
    add(bytes, start, end) {
      length += end - start;
      for (let at = start; at < end;) {
        const copied = bytes.copy(room, filled, at, end);
        filled += copied;
        at += copied;
        if (filled === room.length) mixBlocks();
      }
    },
    key() {
      mixBlocks();
      // More bytes may follow, so the rest is mixed for this key only.
      room.fill(0, filled, BLOCK_BYTES);
      return mix(2 * BLOCK_BYTES, ASIDE, length);
    },
    length: () => length,
  };
}

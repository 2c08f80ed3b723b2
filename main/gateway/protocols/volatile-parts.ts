import type { Member } from './json-edit.ts';

/**
 * Parts of a system prompt that differ in every request and say nothing to a model: an engine's cache ends where they
 * stand. Their values are replaced by a constant of the same length for every upstream but the one that wants them.
 */
interface VolatileKind {
  readonly name: string;
  /** The beginning of the text, up to the value. */
  readonly before: RegExp;
  readonly value: RegExp;
}

const KINDS: readonly VolatileKind[] = [
  {
    // Claude Code from 2.1.36 on, in the first block of its system prompt (anthropics/claude-code#24168, #68900);
    // it costs 50 s a turn in place of 4 (waybarrios/vllm-mlx#277). Anthropic alone reads it.
    name: 'cch',
    before: /"x-anthropic-billing-header:[^"\\]{0,400}?\bcch=/,
    value: /^[^;,\s"\\]+/,
  },
];

export interface VolatilePart {
  readonly name: string;
  readonly start: number;
  readonly value: string;
}

const CONSTANT = '0';
/** A block begins with such a line; what precedes it are names and brackets. */
const SEARCHED_BYTES = 1024;
const SYSTEM_ROLE = /"role"\s*:\s*"system"/;

interface Body {
  readonly bytes: Buffer;
  readonly members: readonly Member[];
}

/**
 * Replaces the volatile parts of the first system block, in place: the body is the gateway's own, and a copy of it may take
 * megabytes.
 */
export function fixVolatileParts(body: Body): readonly VolatilePart[] {
  const block = firstBlock(body);
  if (block === null) return [];
  const text = body.bytes.toString('latin1', block.start, block.end);
  return KINDS.flatMap(({ name, before, value }) => {
    const found = before.exec(text);
    if (found === null || !(block.isSystem || SYSTEM_ROLE.test(text))) return [];
    const at = found.index + found[0].length;
    const [old = ''] = value.exec(text.slice(at)) ?? [];
    if (old === '') return [];
    const start = block.start + at;
    body.bytes.fill(CONSTANT, start, start + old.length, 'latin1');
    return [{ name, start, value: old }];
  });
}

/** A copy of the body as it came. */
export function withVolatileParts(bytes: Buffer, parts: readonly VolatilePart[]): Buffer {
  const copy = Buffer.from(bytes);
  for (const { start, value } of parts) copy.write(value, start, 'latin1');
  return copy;
}

/** The first block of the system prompt, or the first message; no more of it than a part can stand in. */
function firstBlock({ members }: Body) {
  const system = members.find(({ key }) => key === 'system');
  const holder = system ?? members.find(({ key }) => key === 'messages');
  if (holder === undefined) return null;
  const { start, ends, end } = holder;
  const length = Math.min(ends[0] ?? end - start, SEARCHED_BYTES);
  return { start, end: start + length, isSystem: system !== undefined };
}

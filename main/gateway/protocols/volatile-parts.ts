import { type JsonBody, memberAt } from './json-edit.ts';

/**
 * A part of a system prompt that differs in every request and says nothing to a model: an engine's cache ends where it
 * stands. Its value is replaced by a constant of the same length for every upstream but the one that wants it.
 */
export interface VolatilePart {
  readonly name: string;
  readonly start: number;
  readonly value: string;
}

/**
 * Claude Code's from 2.1.36 on, in the first block of its system prompt (anthropics/claude-code#24168, #68900); it costs
 * 50 s a turn in place of 4 (waybarrios/vllm-mlx#277). Anthropic alone reads it.
 */
const CCH = /"x-anthropic-billing-header:[^"\\]{0,400}?\bcch=([^;,\s"\\]+)/d;

const CONSTANT = '0';
/** A block begins with such a line; what precedes it are names and brackets. */
const SEARCHED_BYTES = 1024;
const SYSTEM_ROLE = /"role"\s*:\s*"system"/;

/**
 * Replaces the volatile parts of the first system block, or of the first message if that is the system's, in place: the
 * body is the gateway's own, and a copy of it may take megabytes.
 */
export function fixVolatileParts(body: JsonBody): readonly VolatilePart[] {
  const { bytes } = body;
  const system = memberAt(body, 'system');
  const holder = system ?? memberAt(body, 'messages');
  if (holder === undefined) return [];
  const { start, ends, end } = holder;
  const length = Math.min((ends[0] ?? end) - start, SEARCHED_BYTES);
  const text = bytes.toString('latin1', start, start + length);
  const [from, to] = CCH.exec(text)?.indices?.[1] ?? [];
  if (from === undefined || !(system !== undefined || SYSTEM_ROLE.test(text))) return [];
  const value = text.slice(from, to);
  bytes.fill(CONSTANT, start + from, start + from + value.length, 'latin1');
  return [{ name: 'cch', start: start + from, value }];
}

/** A copy of the body as it came. */
export function withVolatileParts(bytes: Buffer, parts: readonly VolatilePart[]): Buffer {
  const copy = Buffer.from(bytes);
  for (const { start, value } of parts) copy.write(value, start, 'latin1');
  return copy;
}

import { isObject } from '#shared/objects.ts';
import { listOf } from '../../../platform/json.ts';

/** The `delta` of a chunk's choice. */
export type Delta = Readonly<Record<string, unknown>>;

/** Content of a delta that is neither text nor a call of a tool, and cannot be resumed from its middle. */
export type BeyondText = 'function_call' | 'refusal' | 'audio' | 'content_parts';

/** The text of a delta; empty without one. */
export function contentOf(delta: Delta): string {
  const { content } = delta;
  return typeof content === 'string' ? content : '';
}

/** The reasoning of a delta; engines that know both names give the same text under each. */
export function reasoningOf(delta: Delta): string {
  const { reasoning_content: content, reasoning } = delta;
  if (typeof content === 'string' && content !== '') return content;
  return typeof reasoning === 'string' ? reasoning : '';
}

/** The pieces of tool calls of a delta. */
export function callsOf(delta: Delta): readonly Delta[] {
  return listOf(delta['tool_calls']).filter((piece) => isObject(piece));
}

/** Null if a delta has text and calls only. */
export function beyondText(delta: Delta): BeyondText | null {
  const { function_call: call, refusal, audio, content } = delta;
  if (isObject(call)) return 'function_call';
  if (typeof refusal === 'string' && refusal !== '') return 'refusal';
  if (isObject(audio)) return 'audio';
  return Array.isArray(content) && content.length > 0 ? 'content_parts' : null;
}

/** The part of a delta to send. */
interface Kept {
  readonly content: string;
  readonly reasoning: string;
  readonly calls: readonly Delta[];
  readonly isRoleNew: boolean;
}

/** A delta with only those texts, calls and role, and its other fields. Null if it is empty. */
export function keptOf(delta: Delta, kept: Kept): Delta | null {
  const { role, content: _, tool_calls, reasoning, reasoning_content, ...rest } = delta;
  const { reasoning_details, ...others } = rest;
  const hasReasoning = kept.reasoning !== '';
  const fields = {
    role: kept.isRoleNew ? role : undefined,
    content: kept.content === '' ? undefined : kept.content,
    reasoning: hasReasoning && typeof reasoning === 'string' ? kept.reasoning : undefined,
    reasoning_content:
      hasReasoning && typeof reasoning_content === 'string' ? kept.reasoning : undefined,
    reasoning_details: hasReasoning ? reasoning_details : undefined,
    tool_calls: tool_calls === undefined ? undefined : kept.calls,
    ...others,
  };
  return Object.values(fields).every(isBlank) ? null : fields;
}

function isBlank(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  return Array.isArray(value) && value.length === 0;
}

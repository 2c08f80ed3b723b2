import { isObject } from '#shared/objects.ts';

/** The `delta` of a chunk's choice. */
export type Delta = Readonly<Record<string, unknown>>;

/** What a delta may hold that is no text, and that cannot be carried on from its middle. */
export type BeyondText = 'tool_call' | 'refusal' | 'audio' | 'content_parts';

/** The text of a delta, empty where it has none. */
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

/** What a delta holds beyond text; null where that is nothing. */
export function beyondText(delta: Delta): BeyondText | null {
  const { tool_calls: calls, function_call: call, refusal, audio, content } = delta;
  if (isFilled(calls) || isObject(call)) return 'tool_call';
  if (typeof refusal === 'string' && refusal !== '') return 'refusal';
  if (isObject(audio)) return 'audio';
  return isFilled(content) ? 'content_parts' : null;
}

const isFilled = (value: unknown): boolean => Array.isArray(value) && value.length > 0;

/** What of a delta goes on to the caller. */
export interface Kept {
  readonly content: string;
  readonly reasoning: string;
  readonly isRoleNew: boolean;
}

/** A delta with only that text and role; what else it holds stays. Null where nothing is left to say. */
export function keptOf(delta: Delta, kept: Kept): Delta | null {
  const { role, content: _, reasoning, reasoning_content, reasoning_details, ...others } = delta;
  const hasReasoning = kept.reasoning !== '';
  const fields = {
    role: kept.isRoleNew ? role : undefined,
    content: kept.content === '' ? undefined : kept.content,
    reasoning: hasReasoning && typeof reasoning === 'string' ? kept.reasoning : undefined,
    reasoning_content:
      hasReasoning && typeof reasoning_content === 'string' ? kept.reasoning : undefined,
    reasoning_details: hasReasoning ? reasoning_details : undefined,
    ...others,
  };
  return Object.values(fields).every(isBlank) ? null : fields;
}

function isBlank(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  return Array.isArray(value) && value.length === 0;
}

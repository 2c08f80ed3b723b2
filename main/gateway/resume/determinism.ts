import type { ChatRequest } from '../request/chat-request.ts';
import { smallValueOf } from '../request/json-members.ts';

/** Whether the same request should give the same text again: temperature 0, or a seed. */
export function isDeterministic({
  bytes,
  members,
}: Pick<ChatRequest, 'bytes' | 'members'>): boolean {
  const valueOf = (key: string) => smallValueOf(bytes, members, key);
  return valueOf('temperature') === 0 || typeof valueOf('seed') === 'number';
}

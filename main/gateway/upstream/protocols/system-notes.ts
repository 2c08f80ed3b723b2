import { isObject } from '#shared/objects.ts';
import { editedList, type Member, withMembers } from '../json-members.ts';

const SYSTEM: ReadonlySet<unknown> = new Set(['system', 'developer']);

/**
 * The body, of any protocol, with what the system says in the middle of a conversation as the user's words; null if it
 * says nothing there. Codex and Claude Code tell the model so of changes.
 */
export function withNotesAsUser(bytes: Buffer, members: readonly Member[]): Buffer | null {
  const list = members.find(({ key }) => key === 'messages' || key === 'input');
  if (list === undefined) return null;
  let isFirst = !members.some(({ key }) => key === 'system' || key === 'instructions');
  const edited = editedList(bytes, list, ['"'], (each) => {
    const isOpening = isFirst;
    isFirst = false;
    return isObject(each) && SYSTEM.has(each['role']) && !isOpening
      ? { ...each, role: 'user' }
      : each;
  });
  return edited === null ? null : withMembers(bytes, members, { [list.key]: edited });
}

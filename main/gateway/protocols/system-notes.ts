import { isObject } from '#shared/objects.ts';
import { editedList, elementsOf, type Member, withMembers } from './json-members.ts';

const SYSTEM: readonly unknown[] = ['system', 'developer'];
/** As they stand in a body. */
const WORDS = SYSTEM.map((role) => JSON.stringify(role));

/**
 * The body, of any protocol, with what the system says in the middle of a conversation as the user's words; null if it
 * says nothing there. Codex and Claude Code tell the model so of changes.
 */
export function withNotesAsUser(bytes: Buffer, members: readonly Member[]): Buffer | null {
  const list = members.find(({ key }) => key === 'messages' || key === 'input');
  if (list === undefined) return null;
  const [first] = elementsOf(bytes, list);
  const opening = first === undefined ? '' : bytes.toString('utf8', first.start, first.end);
  const hasOpened = members.some(({ key }) => key === 'system' || key === 'instructions');
  let mayOpen = !hasOpened && WORDS.some((word) => opening.includes(word));
  const edited = editedList(bytes, list, WORDS, (each) => {
    const isOpening = mayOpen;
    mayOpen = false;
    const isNote = isObject(each) && SYSTEM.includes(each['role']) && !isOpening;
    return isNote ? { ...each, role: 'user' } : each;
  });
  return edited === null ? null : withMembers(bytes, members, { [list.key]: edited });
}

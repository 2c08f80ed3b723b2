import type { ApiEndpoint, BadRequest } from './endpoint.ts';
import { isText, type Member } from './json-members.ts';

type CheckBody = ApiEndpoint['checkBody'];

const find = (members: readonly Member[], key: string) =>
  members.find((member) => member.key === key);

export const anyBody: CheckBody = () => null;

/** The first problem that one of them finds. */
export function all(...checks: readonly CheckBody[]): CheckBody {
  return (bytes, members) => {
    for (const check of checks) {
      const problem = check(bytes, members);
      if (problem !== null) return problem;
    }
    return null;
  };
}

export function requiresList(key: string): CheckBody {
  return (_bytes, members) =>
    (find(members, key)?.last ?? null) === null ? missing(key, 'must be a non-empty array.') : null;
}

export function requiresText(key: string): CheckBody {
  return (bytes, members) => {
    const member = find(members, key);
    return member !== undefined && isFullText(bytes, member)
      ? null
      : missing(key, 'must be a non-empty string.');
  };
}

export function requiresTextOrList(key: string): CheckBody {
  return (bytes, members) => {
    const member = find(members, key);
    const isGiven = member !== undefined && (member.last !== null || isText(bytes, member));
    return isGiven ? null : missing(key, 'must be a string or a non-empty array.');
  };
}

/** More than its two quotes. */
function isFullText(bytes: Buffer, member: Member): boolean {
  return isText(bytes, member) && member.end - member.start > 2;
}

function missing(key: string, rule: string): BadRequest {
  return { message: `'${key}' ${rule}`, param: key };
}

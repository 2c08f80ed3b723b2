import { type SavedEnrollment, tokenDigest } from '../storage/enrollment-file.ts';
import { registryOrigin } from './http-link.ts';
import type { LinkProblem } from './remedies.ts';

/** The settings that choose the registry. */
export interface Configured {
  readonly registryUrl: string | null;
  /** Other gateways of the same pool. */
  readonly otherRegistryUrls: readonly string[];
  readonly enrollToken: string | null;
}

export type Choice =
  | { readonly kind: 'saved'; readonly enrolment: SavedEnrollment }
  /** `fallback`: an earlier enrolment, used if the token is refused. */
  | {
      readonly kind: 'enroll';
      readonly origin: string;
      readonly token: string;
      readonly fallback: SavedEnrollment | null;
    }
  /** The registry of this process; `otherwise` is shown if there is none. */
  | { readonly kind: 'own'; readonly otherwise: LinkProblem }
  | { readonly kind: 'none'; readonly url: string | null; readonly problem: LinkProblem };

/** Settings take precedence over an earlier join; without either, the registry of this process is used. */
export function chooseRegistry(
  { registryUrl, enrollToken }: Pick<Configured, 'registryUrl' | 'enrollToken'>,
  saved: SavedEnrollment | null,
  id: string,
): Choice {
  const isOurs = saved !== null && saved.id === id;
  if (registryUrl === null) {
    if (saved === null) return { kind: 'own', otherwise: NOT_JOINED };
    if (isOurs) return { kind: 'saved', enrolment: saved };
    return { kind: 'none', url: saved.registryUrl, problem: NEW_KEY };
  }
  const origin = registryOrigin(registryUrl);
  if (origin === null) return { kind: 'none', url: null, problem: BAD_SETTING };
  const former = isOurs && saved.registryUrl === origin ? saved : null;
  // A token works only once, but stays in the environment after its use.
  const isUsed = enrollToken === null || former?.tokenDigest === tokenDigest(enrollToken);
  if (former !== null && isUsed) return { kind: 'saved', enrolment: former };
  if (enrollToken === null) return { kind: 'none', url: origin, problem: NOT_JOINED };
  return { kind: 'enroll', origin, token: enrollToken, fallback: former };
}

const NOT_JOINED: LinkProblem = {
  happened: 'This machine has joined no gateway.',
  remedy:
    'On the gateway choose "Add a machine" and run the line that it shows on this machine, or set SWITCHYARD_ENROLL_TOKEN to its token.',
};

const NEW_KEY: LinkProblem = {
  happened: 'This machine has a new key, so the gateway that it had joined no longer knows it.',
  remedy: 'Join it again with a new line from that gateway.',
};

const BAD_SETTING: LinkProblem = {
  happened: 'Heartbeats cannot be sent to the address in SWITCHYARD_REGISTRY_URL.',
  remedy: 'Write it like http://192.168.1.10:47900, without a path, a user or a query.',
};

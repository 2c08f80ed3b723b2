import type { AgentMembership } from '#shared/agent.ts';
import type { JoinLine } from '#shared/join-line.ts';
import { registryOrigin } from '../../platform/addresses.ts';
import { sleep } from '../../platform/clock.ts';
import { digestOf } from '../../platform/secrets.ts';
import type { AgentContext } from '../context.ts';
import type { AgentIdentity, EnrollmentFile, SavedEnrollment } from '../storage.ts';
import { type HeartbeatParts, type Heartbeats, pauseAfter, startHeartbeats } from './heartbeats.ts';
import {
  type BeatOutcome,
  createOwnLink,
  createHttpLink,
  createSequence,
  isTemporary,
  type LinkProblem,
  linkProblemOf,
  type RegistryLink,
} from './link.ts';

const NOWHERE: AgentMembership = {
  kind: 'none',
  url: null,
  state: 'not_enrolled',
  lastAcceptedAt: null,
  standing: null,
  problem: null,
  clockOffsetMs: 0,
};

type JoinResult =
  /** `url` is that of the gateway that answered; `warning` is human-readable, null if there is none. */
  | { readonly kind: 'joined'; readonly url: string; readonly warning: string | null }
  | ({ readonly kind: 'failed' } & LinkProblem);

interface RegistrationParts extends Pick<HeartbeatParts, 'engines' | 'record'> {
  readonly identity: AgentIdentity;
  readonly file: EnrollmentFile;
  /** The content of that file at the start. */
  readonly saved: SavedEnrollment | null;
  /** The view has changed. */
  readonly changed: () => void;
}

type Membership = Pick<SavedEnrollment, 'registryUrl' | 'gatewayToken' | 'others'>;

/** The registry that this machine reports to, and the operations that change it. Nothing is sent before `start`. */
export function createRegistration(context: AgentContext, parts: RegistrationParts) {
  const { http, clock, config, random, ownRegistry } = context;
  const { identity, file, engines, record } = parts;
  const settings = () => config().agent;
  const sequence = createSequence(clock);
  let view = NOWHERE;
  /** `token` is what the gateway sends; null while this machine reports to none. */
  let connection: { readonly token: string; readonly beats: Heartbeats } | null = null;
  /** Aborts what was started for the current registry. */
  let lifetime = new AbortController();
  let isStopped = false;

  function show(part: Partial<AgentMembership>): void {
    view = { ...view, ...part };
    parts.changed();
  }

  /** Starts sending heartbeats over this link. */
  function connect(link: RegistryLink, gatewayToken: string): void {
    if (isStopped) return;
    const onOutcome = (outcome: BeatOutcome) => show(viewAfter(outcome, link, clock.now()));
    const beats = startHeartbeats(context, { engines, record, link, onOutcome });
    connection = { token: gatewayToken, beats };
  }

  /** Sends a goodbye. The returned signal aborts when the next registry is left. */
  async function disconnect(): Promise<AbortSignal> {
    lifetime.abort();
    lifetime = new AbortController();
    const { signal } = lifetime;
    const before = connection;
    connection = null;
    await before?.beats.stop();
    return signal;
  }

  async function connectOwn(): Promise<void> {
    const { signal } = lifetime;
    if (ownRegistry === null) return show({ ...NOWHERE, problem: NOT_JOINED });
    show({ ...NOWHERE, kind: 'own', state: 'starting' });
    const { gatewayToken } = await ownRegistry.adopt(identity.publicKey);
    if (!signal.aborted) connect(createOwnLink(ownRegistry, identity.id), gatewayToken);
  }

  function linkTo(home: string, named: readonly string[] = []) {
    const others = [...named, ...settings().otherRegistryUrls];
    return createHttpLink({ http, clock, identity, sequence, home, others });
  }

  /**
   * Enrols with the token in the settings and retries until there is an answer; a refusal is final. `fallback` is an
   * earlier enrolment, used if the token is refused.
   */
  async function enroll(
    origin: string,
    given: string,
    fallback: SavedEnrollment | null,
  ): Promise<void> {
    const { signal } = lifetime;
    const link = linkTo(origin);
    show({ ...NOWHERE, kind: 'joined', url: origin, state: 'starting' });
    for (let failures = 1; !signal.aborted; failures += 1) {
      const outcome = await link.enroll(given, signal);
      if (signal.aborted) return;
      if (outcome.kind === 'enrolled') {
        const { gatewayToken } = outcome;
        const joined = { registryUrl: origin, others: [], id: identity.id, gatewayToken };
        const failure = await file.save(joined, given);
        if (signal.aborted) return;
        connect(link, gatewayToken);
        return show({ problem: notSaved(failure) });
      }
      const isFinal = !isTemporary(outcome);
      show({ state: isFinal ? 'not_enrolled' : 'failing', problem: linkProblemOf(outcome) });
      if (isFinal) return fallback === null ? undefined : connect(link, fallback.gatewayToken);
      const pace = { heartbeatMs: settings().heartbeatMs, failures, random: random() };
      await sleep(clock, pauseAfter(outcome, pace), signal);
    }
  }

  function connectTo({ registryUrl: url, gatewayToken, others }: Membership): void {
    show({ ...NOWHERE, kind: 'joined', url, state: 'starting' });
    connect(linkTo(url, others), gatewayToken);
  }

  /** Settings take precedence over an earlier join; without either, the registry of this process is used. */
  async function settle(saved: SavedEnrollment | null): Promise<void> {
    const { registryUrl, enrollToken } = settings();
    const ours = saved?.id === identity.id ? saved : null;
    if (registryUrl === null) {
      if (saved === null) return connectOwn();
      if (ours !== null) return connectTo(ours);
      return show({ ...NOWHERE, url: saved.registryUrl, problem: NEW_KEY });
    }
    const { origin } = new URL(registryUrl);
    const former = ours?.registryUrl === origin ? ours : null;
    // A token works only once, but stays in the environment after its use.
    const isUsed = enrollToken === null || former?.tokenDigest === digestOf(enrollToken);
    if (former !== null && isUsed) return connectTo(former);
    if (enrollToken === null) return show({ ...NOWHERE, url: origin, problem: NOT_JOINED });
    return enroll(origin, enrollToken, former);
  }

  return {
    start: () => void settle(parts.saved),
    view: () => view,
    /** The digests of the tokens that are accepted from the gateway. */
    tokenDigests: () => (connection === null ? [] : [digestOf(connection.token)]),
    /** The record has changed: a heartbeat is sent soon. */
    changed: () => connection?.beats.changed(),
    now: () => connection?.beats.now(),
    async join({ url, others, token: given }: JoinLine): Promise<JoinResult> {
      const { registryUrl } = settings();
      const named = [url, ...others];
      const fixed = registryUrl === null ? null : new URL(registryUrl).origin;
      if (fixed !== null && !named.map(registryOrigin).includes(fixed))
        return { kind: 'failed', ...FIXED_URL };
      const link = linkTo(fixed ?? url, named);
      const outcome = await link.enroll(given);
      if (outcome.kind !== 'enrolled') return { kind: 'failed', ...linkProblemOf(outcome) };
      // The gateway that the settings name stays first, whichever answered.
      const home = fixed ?? link.url;
      const { gatewayToken } = outcome;
      const joined = { registryUrl: home, others: named, id: identity.id, gatewayToken };
      const unsaved = await file.save(joined, given);
      const unheard = await context.listenFor(link.url);
      const signal = await disconnect();
      if (!signal.aborted) connectTo(joined);
      return { kind: 'joined', url: link.url, warning: warningOf(unsaved, unheard) };
    },
    /** Returns to the registry of this process. */
    async leave(): Promise<void> {
      const signal = await disconnect();
      await file.remove();
      if (!signal.aborted) await settle(null);
    },
    /** Applies settings that name another registry or another token. */
    async configure(): Promise<void> {
      const signal = await disconnect();
      // The result is the same as after a start with these settings.
      if (!signal.aborted) await settle(file.load().enrolment);
    },
    /** Leaves the registry for good. */
    async stop(): Promise<void> {
      isStopped = true;
      await disconnect();
      lifetime.abort();
    },
  };
}

function viewAfter(
  outcome: BeatOutcome,
  link: RegistryLink,
  nowMs: number,
): Partial<AgentMembership> {
  const clockOffsetMs = link.clockOffsetMs();
  const heard = { state: 'connected', lastAcceptedAt: nowMs, clockOffsetMs } as const;
  switch (outcome.kind) {
    case 'accepted':
      return { ...heard, url: link.url, standing: outcome.standing, problem: null };
    case 'unwritten':
      return { ...heard, problem: linkProblemOf(outcome) };
    default:
      return { state: 'failing', problem: linkProblemOf(outcome), clockOffsetMs };
  }
}

const FIXED_URL: LinkProblem = {
  happened: 'The settings name another gateway (INGLENOOK_REGISTRY_URL).',
  remedy: 'Change or remove that setting, then join again.',
};

/** `code`: why the enrolment could not be saved; null if it was. */
function notSaved(code: string | null): LinkProblem | null {
  if (code === null) return null;
  return {
    happened: `The enrolment could not be written to disk (${code}): it will be lost at the next start.`,
    remedy: 'Free disk space for the data directory, or make it writable, and join again.',
  };
}

function warningOf(unsaved: string | null, unheard: string | null): string | null {
  const words = [notSaved(unsaved)?.happened ?? null, unheard].filter((each) => each !== null);
  return words.length === 0 ? null : words.join(' ');
}

const NOT_JOINED: LinkProblem = {
  happened: 'This machine has not joined a gateway.',
  remedy:
    'On the gateway choose "Add a machine" and run the join command that it shows on this machine, or set INGLENOOK_ENROLL_TOKEN to its token.',
};

const NEW_KEY: LinkProblem = {
  happened: 'This machine has a new key, so the gateway it had joined no longer knows it.',
  remedy: 'Join it again with a new join command from that gateway.',
};

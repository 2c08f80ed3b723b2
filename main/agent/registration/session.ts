import type { AgentRecord } from '#shared/provider.ts';
import type { Clock } from '../../platform/clock.ts';
import { digestOf } from '../../platform/secrets.ts';
import { createHeartbeats, type Heartbeats } from './heartbeats.ts';
import type { BeatOutcome, RegistryLink, RegistryView } from './link.ts';
import { type LinkProblem, linkProblemOf } from './remedies.ts';

/** State of this machine's registration. */
export interface RegistrationView {
  /** `own`: the registry of this process. */
  readonly kind: 'own' | 'joined' | 'none';
  readonly url: string | null;
  readonly state: 'starting' | 'connected' | 'failing' | 'not_enrolled';
  /** Milliseconds since the epoch. */
  readonly lastAcceptedAt: number | null;
  /** The registry's view of this machine. */
  readonly standing: RegistryView | null;
  /** The last problem, human-readable; null once it is solved. */
  readonly problem: LinkProblem | null;
  /** Milliseconds by which the time in messages is corrected. */
  readonly clockOffsetMs: number;
}

/** The session with one registry: link, heartbeats, last result. */
export interface RegistrySession {
  view(): RegistrationView;
  show(part: Partial<RegistrationView>): void;
  /** Digests of the tokens that are accepted from the gateway. */
  tokenDigests(): readonly Buffer[];
  /** The token that the gateway sends; null while there is none. */
  gatewayToken(): string | null;
  /** Starts sending heartbeats over this link. */
  connect(link: RegistryLink, gatewayToken: string): void;
  /** The record has changed: a heartbeat is sent soon. */
  changed(): void;
  /** Sends a heartbeat at once. */
  now(): void;
  /** Ends the session with a goodbye. The returned signal aborts when the next session ends. */
  disconnect(): Promise<AbortSignal>;
  /** Aborts when the session ends. */
  signal(): AbortSignal;
  /** Ends the session for good. */
  stop(): Promise<void>;
}

export interface RegistrySessionDeps {
  readonly clock: Clock;
  readonly random: () => number;
  readonly record: (isLeaving: boolean) => AgentRecord;
  readonly untilReady: (signal: AbortSignal) => Promise<void>;
  readonly heartbeatMs: () => number;
  /** The view has changed. */
  readonly onChange: () => void;
}

export const NOWHERE: RegistrationView = {
  kind: 'none',
  url: null,
  state: 'not_enrolled',
  lastAcceptedAt: null,
  standing: null,
  problem: null,
  clockOffsetMs: 0,
};

export function createRegistrySession(deps: RegistrySessionDeps): RegistrySession {
  const { clock } = deps;
  let view = NOWHERE;
  let digests: readonly Buffer[] = [];
  let token: string | null = null;
  let beats: Heartbeats | null = null;
  /** Aborts what was started for the current session. */
  let lifetime = new AbortController();
  let isStopped = false;

  function show(part: Partial<RegistrationView>): void {
    view = { ...view, ...part };
    deps.onChange();
  }

  function noteOutcome(outcome: BeatOutcome, link: RegistryLink): void {
    const clockOffsetMs = link.clockOffsetMs();
    if (outcome.kind === 'accepted') {
      const { standing } = outcome;
      const lastAcceptedAt = clock.now();
      const { url } = link;
      show({ url, state: 'connected', lastAcceptedAt, standing, problem: null, clockOffsetMs });
    } else if (outcome.kind === 'unwritten') {
      const problem = { happened: outcome.message, remedy: null };
      show({ state: 'connected', lastAcceptedAt: clock.now(), problem, clockOffsetMs });
    } else show({ state: 'failing', problem: linkProblemOf(outcome), clockOffsetMs });
  }

  async function disconnect(): Promise<AbortSignal> {
    lifetime.abort();
    lifetime = new AbortController();
    const { signal } = lifetime;
    const before = beats;
    beats = null;
    digests = [];
    token = null;
    await before?.stop();
    return signal;
  }

  return {
    view: () => view,
    show,
    tokenDigests: () => digests,
    gatewayToken: () => token,
    connect(link, gatewayToken) {
      if (isStopped) return;
      digests = [digestOf(gatewayToken)];
      token = gatewayToken;
      beats = createHeartbeats({
        ...deps,
        link,
        onOutcome: (outcome) => noteOutcome(outcome, link),
      });
      beats.start();
    },
    changed: () => beats?.changed(),
    now: () => beats?.now(),
    disconnect,
    signal: () => lifetime.signal,
    async stop() {
      isStopped = true;
      await disconnect();
      lifetime.abort();
    },
  };
}

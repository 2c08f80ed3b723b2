import type { AgentRecord } from '#shared/provider.ts';
import type { Clock } from '../../platform/clock.ts';
import { digestOf } from '../../platform/secrets.ts';
import { createHeartbeats, type Heartbeats } from './heartbeats.ts';
import type { BeatOutcome, RegistryLink, Standing } from './link.ts';
import { type LinkProblem, linkProblemOf } from './remedies.ts';

/** How this machine stands with the registry that it reports to. */
export interface RegistrationView {
  /** `own`: the one in this process. */
  readonly kind: 'own' | 'joined' | 'none';
  readonly url: string | null;
  readonly state: 'starting' | 'connected' | 'failing' | 'not_enrolled';
  /** Milliseconds since the epoch. */
  readonly lastAcceptedAt: number | null;
  /** What the registry thinks of this machine. */
  readonly standing: Standing | null;
  /** For people: what went wrong last, and what to do; null once all is well. */
  readonly problem: LinkProblem | null;
  /** How far this machine's clock had to be corrected, in milliseconds. */
  readonly clockOffsetMs: number;
}

/** The present place at a registry: its link, its heartbeats and what came of them. */
export interface RegistrySession {
  view(): RegistrationView;
  show(part: Partial<RegistrationView>): void;
  /** Digests of the tokens that the gateway may show. */
  tokenDigests(): readonly Buffer[];
  /** What the gateway shows; null while there is none. */
  gatewayToken(): string | null;
  /** Sends heartbeats over a link from now on. */
  attend(link: RegistryLink, gatewayToken: string): void;
  /** The record has changed. */
  changed(): void;
  /** At once, whatever was waited for. */
  now(): void;
  /** Ends with the present registry, politely; the signal ends what is begun for the next one. */
  depart(): Promise<AbortSignal>;
  /** Aborts when the present place is left. */
  signal(): AbortSignal;
  /** Departs for good. */
  stop(): Promise<void>;
}

/** What it takes. */
export interface RegistrySessionDeps {
  readonly clock: Clock;
  readonly random: () => number;
  readonly record: (isLeaving: boolean) => AgentRecord;
  /** Resolves once the record is worth telling. */
  readonly untilReady: (signal: AbortSignal) => Promise<void>;
  readonly heartbeatMs: () => number;
  /** Something of the view has changed. */
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

/** Makes one that attends nothing yet. */
export function createRegistrySession(deps: RegistrySessionDeps): RegistrySession {
  const { clock } = deps;
  let view = NOWHERE;
  let digests: readonly Buffer[] = [];
  let token: string | null = null;
  let beats: Heartbeats | null = null;
  /** Ends what was begun for the registry of before. */
  let era = new AbortController();
  let isStopped = false;

  function show(part: Partial<RegistrationView>): void {
    view = { ...view, ...part };
    deps.onChange();
  }

  function heard(outcome: BeatOutcome, link: RegistryLink): void {
    const clockOffsetMs = link.clockOffsetMs();
    if (outcome.kind === 'accepted') {
      const { standing } = outcome;
      const lastAcceptedAt = clock.now();
      show({ state: 'connected', lastAcceptedAt, standing, problem: null, clockOffsetMs });
    } else if (outcome.kind === 'unwritten') {
      const problem = { happened: outcome.message, remedy: null };
      show({ state: 'connected', lastAcceptedAt: clock.now(), problem, clockOffsetMs });
    } else show({ state: 'failing', problem: linkProblemOf(outcome), clockOffsetMs });
  }

  async function depart(): Promise<AbortSignal> {
    era.abort();
    era = new AbortController();
    const { signal } = era;
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
    attend(link, gatewayToken) {
      if (isStopped) return;
      digests = [digestOf(gatewayToken)];
      token = gatewayToken;
      beats = createHeartbeats({ ...deps, link, onOutcome: (outcome) => heard(outcome, link) });
      beats.start();
    },
    changed: () => beats?.changed(),
    now: () => beats?.now(),
    depart,
    signal: () => era.signal,
    async stop() {
      isStopped = true;
      await depart();
      era.abort();
    },
  };
}

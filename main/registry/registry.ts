import type { LocalProvider, Provider } from '#shared/provider.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { RegistryContext } from './context.ts';
import { createOpenEnrollments, type NewEnrollment } from './enrollment-tokens.ts';
import { enroll } from './enrollment.ts';
import { takeHeartbeat } from './heartbeat.ts';
import { type Counts, createListing, type Listed, type RawQuery } from './listing.ts';
import { silenceAtStart, STALE_MS } from './liveness.ts';
import { createOwnerNotes, type OwnerNotes } from './owner-notes.ts';
import { createOwnAgent, type OwnAgent } from './own-agent.ts';
import { createAbsorber, writeAgain } from './pool/absorber.ts';
import { addressesFor, announcementOf } from './pool/announcement.ts';
import { createSharing } from './pool/sharing.ts';
import { createPresence, lastAliveAt } from './presence.ts';
import { createProviderAdmin, type ProviderAdmin } from './provider-admin.ts';
import { type TableEntry, entryOf } from './provider-entry.ts';
import { createProviderTable, type ProviderTable, type Target } from './provider-table.ts';
import { excerptOf, providerView, type Traffic } from './provider-view.ts';
import type { AgentMessage, Answer, EnrollAnswer, HeartbeatAnswer, Refusal } from './responses.ts';
import {
  type Capacity,
  causesIn,
  createCapacity,
  type ServingState,
  servingState,
} from './serving.ts';
import type { Pool } from './store/postgres/pool-client.ts';
import type { Store, StoredProvider, StoredState } from './store/store.ts';
import { createVerifierHost } from './verifier-adapter.ts';
import type { VerifierPort, VerifierHost } from './verifier-port.ts';

export interface RegistryDeps {
  readonly store: Store;
  /** Content of the store at the start. */
  readonly state: StoredState;
  readonly clock: Clock;
  readonly log: Log;
  /** The agents' tokens are derived from it; it is kept outside the database. */
  readonly gatewaySecret: string;
  readonly heartbeatMs: () => number;
  readonly verifier: VerifierPort;
  /** Left out if this gateway is not in a pool. */
  readonly pool?: Pool;
  /** Addresses at which agents reach the gateways of the pool. */
  readonly poolAddresses?: () => readonly string[];
  /** The gateway's own figures on a provider. */
  readonly traffic: (id: string) => Traffic;
  /** Called with the id of each provider that was added, changed or removed. */
  readonly changed: (id: string) => void;
}

/** Machines with a recent heartbeat. */
interface RegistryShare {
  /** Whose last heartbeat was sent to this gateway. */
  readonly machines: number;
  /** Verified by this gateway. */
  readonly verified: number;
}

export interface Registry extends OwnAgent, ProviderAdmin, OwnerNotes {
  /** Starts watching for silence. */
  start(): void;
  /** This computer has woken from sleep: each machine's next heartbeat counts as its return. */
  resumed(): void;
  stop(): Promise<void>;
  handleEnroll(message: AgentMessage): Promise<Answer<EnrollAnswer>>;
  handleHeartbeat(message: AgentMessage): Promise<Answer<HeartbeatAnswer>>;
  newEnrollment(baseUrl: string): Promise<Answer<NewEnrollment>>;
  list(query: RawQuery): Listed | Refusal;
  /** Null if it is unknown or has not sent a heartbeat yet. */
  get(id: string): Provider | null;
  /** For the status report. */
  excerpt(id: string): LocalProvider | null;
  /** The provider with the latest heartbeat; null while there is none. */
  freshest(): string | null;
  /** Over all providers of the default list. */
  counts(): Counts;
  /** This gateway's share of the pool's machines. */
  share(): RegistryShare;
  /** What the machines that routing may choose now offer together. */
  capacity(): Capacity;
  /** The first ids of the default list. */
  ids(limit: number): readonly string[];
  /** The machines that routing may choose now; the same array until one of them changes. */
  targets(): readonly Target[];
  /** Whether any machine is expected to serve; without one, `local` is not configured. */
  servingState(): ServingState;
  /** Why none of the machines is used, for callers. */
  causes(): string;
  /** Rises with each change. */
  revision(): number;
  readonly verifierHost: VerifierHost;
}

export function createRegistry(deps: RegistryDeps): Registry {
  const { store, clock, traffic, changed } = deps;
  let isLoaded = false;
  const table = createProviderTable(clock, (id) => {
    if (!isLoaded) return;
    sweep.wake();
    changed(id);
  });
  const sharing = deps.pool === undefined ? null : createSharing(deps.pool, deps);
  const parts: RegistryContext = { ...deps, ...announcementOf(deps), table, sharing };
  load(deps, table);
  isLoaded = true;
  const open = createOpenEnrollments(deps.state.enrollments, { store, clock });
  const listing = createListing(table, traffic);
  const notes = createOwnerNotes(parts, deps.state);
  const capacity = createCapacity(table);
  const gone = (id: string) => {
    listing.forget(id);
    notes.forget(id);
  };
  const sweep = createPresence(parts, gone);
  // The gateway that removes a machine from the pool also removes its note.
  const absorb = createAbsorber(parts, { open, notes, gone: (id) => listing.forget(id) });
  sharing?.begin(absorb, (id) => writeAgain(id, parts));
  return {
    ...createOwnAgent(parts),
    ...createProviderAdmin(parts, gone),
    notes: () => notes.notes(),
    nameOf: (id) => notes.nameOf(id),
    setNote: (id, body) => notes.setNote(id, body),
    capacity,
    start() {
      sweep.start();
      sharing?.start();
    },
    resumed: () => table.resumed(),
    async stop() {
      sharing?.stop();
      await sweep.stop();
    },
    handleEnroll: (message) => enroll(message, open, parts),
    async handleHeartbeat(message) {
      const answer = await takeHeartbeat(message, parts);
      if (answer.kind === 'answered') listing.renew(answer.body.id);
      return answer;
    },
    newEnrollment: (baseUrl) => open.create(addressesFor(baseUrl, parts.announced())),
    list: (query) => listing.list(query),
    get(id) {
      const entry = table.get(id);
      const status = entry === undefined ? null : table.status(entry);
      const record = entry?.shown ?? null;
      if (entry === undefined || record === null || status === null) return null;
      return providerView({ entry, record, status, traffic: traffic(id) });
    },
    excerpt(id) {
      const entry = table.get(id);
      return entry === undefined ? null : excerptOf(entry);
    },
    freshest: () => freshest(table),
    counts: () => listing.counts(),
    share: () => shareOf(table),
    ids: (limit) => listing.ids(limit),
    targets: () => table.targets(),
    servingState: () => servingState(table),
    causes: () => causesIn(table),
    revision: () => table.revision(),
    verifierHost: createVerifierHost(parts),
  };
}

function load({ state, clock, gatewaySecret }: RegistryDeps, table: ProviderTable): void {
  const aliveAt = lastAliveAt(state);
  const ticks = clock.ticks();
  for (const stored of state.providers.toSorted(byEnrolment)) {
    const silentMs = silenceAtStart(stored.lastHeartbeatAt ?? aliveAt, aliveAt);
    table.add(entryOf(stored, { lastHeartbeatTicks: ticks - silentMs, gatewaySecret }));
  }
}

function byEnrolment(a: StoredProvider, b: StoredProvider): number {
  return a.enrolledAt - b.enrolledAt || (a.id < b.id ? -1 : 1);
}

function shareOf(table: ProviderTable): RegistryShare {
  let [machines, verified] = [0, 0];
  table.survey(({ isHeardHere, isVerifiedHere, stored }, silentMs) => {
    if (silentMs >= STALE_MS) return;
    if (isHeardHere) machines += 1;
    if (isVerifiedHere && stored.verification.state === 'verified') verified += 1;
  });
  return { machines, verified };
}

function freshest(table: ProviderTable): string | null {
  let found: TableEntry | null = null;
  for (const entry of table.all()) {
    if (entry.shown === null) continue;
    if (found === null || entry.lastHeartbeatTicks > found.lastHeartbeatTicks) found = entry;
  }
  return found?.id ?? null;
}

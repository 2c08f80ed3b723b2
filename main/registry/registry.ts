import type { ProvidersSummary } from '#shared/live.ts';
import type { AgentRecord, LocalProvider, Provider, ProviderTraffic } from '#shared/provider.ts';
import { excerpt } from '#shared/visible.ts';
import { providerIdOf } from '../platform/agent-identity.ts';
import { isoTime } from '../platform/clock.ts';
import { eventChange, providerChange, type RegistryContext, write } from './context.ts';
import { admit, createOpenEnrollments, enroll } from './enrollment.ts';
import { createFollower } from './follower.ts';
import { applyHeartbeat, takeHeartbeat } from './heartbeat.ts';
import { createListing, excerptOf, providerView } from './listing.ts';
import {
  createProviderTable,
  entryOf,
  isUnlisted,
  type ProviderTable,
  type TableEntry,
  verificationStateOf,
} from './provider-table.ts';
import { silenceAtStart } from './staleness.ts';
import { createOwnerNotes } from './owner-notes.ts';
import { createSweeper } from './sweeper.ts';
import { answered, type Refusal } from '../platform/http/routes.ts';
import { type AgentMessage, providerNotFound, unwritten } from './responses.ts';
import { absenceIn, capacityOf, causesIn, proofOf, reasonFor } from './serving.ts';
import type { StoredState } from './store/store.ts';
import { createVerifierHost } from './verifier-host.ts';

export interface RegistryDeps extends Omit<RegistryContext, 'table'> {
  readonly state: StoredState;
  /** The addresses of all gateways that share the store, as machines reach them; left out if there are none. */
  readonly addresses?: () => readonly string[];
  /** The gateway's own figures on a provider. */
  readonly traffic: (id: string) => ProviderTraffic;
  /** Called with the id of each provider that was added, changed or removed. */
  readonly changed: (id: string) => void;
  /** A machine has answered the completion of its verification. */
  readonly proved: (id: string) => void;
}

export type Registry = ReturnType<typeof createRegistry>;

export function createRegistry(deps: RegistryDeps) {
  const { store, clock, traffic, changed } = deps;
  const table = createProviderTable(clock, entriesIn(deps), {
    hasServed: (id) => traffic(id).successCount > 0,
    changed(id) {
      sweep.wake();
      changed(id);
    },
  });
  const parts: RegistryContext = { ...deps, table };
  const open = createOpenEnrollments(deps.state.enrollments, { store, clock });
  const notes = createOwnerNotes(parts);
  const sweep = createSweeper(parts);
  const listing = createListing(table, traffic);
  return {
    ...createOwnAgent(parts),
    ...createProviderAdmin(parts),
    ...listing,
    ...notes,
    summary: (): ProvidersSummary => ({
      revision: table.revision(),
      ...listing.counts(),
      ...capacityOf(table),
    }),
    /** Starts watching for silence. */
    start(): void {
      sweep.start();
      store.shared?.follow(createFollower(parts));
    },
    stop: () => sweep.stop(),
    handleEnroll: (message: AgentMessage) => enroll(message, open, parts),
    handleHeartbeat: (message: AgentMessage) => takeHeartbeat(message, parts),
    newEnrollment: (baseUrl: string) =>
      open.create(joinAddresses(baseUrl, deps.addresses?.() ?? [])),
    /** Null if it is unknown or has not sent a heartbeat yet. */
    get(id: string): Provider | null {
      const entry = table.get(id);
      if (entry === undefined) return null;
      return providerView(entry, table.silentMs(entry), traffic(id));
    },
    /** For the status report; with null, of the provider with the latest heartbeat. */
    excerpt(id: string | null): LocalProvider | null {
      const entry = id === null ? freshest(table) : table.get(id);
      return entry?.shown ? excerptOf(entry, entry.shown) : null;
    },
    /** The machines that routing may choose now; the same array until one of them changes. */
    targets: () => table.targets(),
    /** Why no machine serves `local`, if none does. */
    reason: () => reasonFor(table),
    /** Why none of the machines is used, for the window; null if none is expected to be. */
    absence: () => absenceIn(table),
    /** What the verifications of a machine have shown; null before the first. */
    proof: (id: string) => proofOf(table.get(id)),
    /** Why none of the machines is used, for callers. */
    causes: () => causesIn(table, (id) => excerpt(notes.nameOf(id) ?? id)),
    verifierHost: createVerifierHost(parts, deps.proved),
  };
}

/** The addresses in a join command; the gateway's own comes first. */
function joinAddresses(own: string, all: readonly string[]): readonly string[] {
  if (all.length === 0) return [own];
  return all.toSorted((a, b) => Number(b === own) - Number(a === own));
}

function entriesIn({ state, clock, gatewaySecret }: RegistryDeps): readonly TableEntry[] {
  const { providers, lastEventAt } = state;
  // The registry was alive then: it also notes when the last machine to report falls silent.
  const aliveAt = Math.max(lastEventAt, ...providers.map((each) => each.lastHeartbeatAt ?? 0));
  const ticks = clock.ticks();
  const ordered = providers.toSorted(
    (a, b) => a.enrolledAt - b.enrolledAt || (a.id < b.id ? -1 : 1),
  );
  return ordered.map((stored) => {
    const silentMs = silenceAtStart(stored.lastHeartbeatAt ?? aliveAt, aliveAt);
    return entryOf(stored, ticks - silentMs, gatewaySecret);
  });
}

function freshest(table: ProviderTable): TableEntry | undefined {
  const listed = [...table.all()].filter((entry) => entry.shown !== null && !isUnlisted(entry));
  const at = Math.max(...listed.map(({ lastHeartbeatTicks }) => lastHeartbeatTicks));
  return listed.find(({ lastHeartbeatTicks }) => lastHeartbeatTicks === at);
}

/** The sender address of this process's own heartbeats. */
const OWN_IP = '127.0.0.1';

/** The agent of this process: enrolled automatically, its heartbeats need no signature. */
function createOwnAgent(parts: RegistryContext) {
  const { table } = parts;
  return {
    /** Enrols the agent; at later starts it is the same provider. */
    async adoptOwn(publicKey: string) {
      const known = table.get(providerIdOf(publicKey));
      const entry = known ?? admit(publicKey, 0, parts).entry;
      entry.isOwn = true;
      if (known === undefined) {
        const { enrolledAt } = entry.stored;
        // A failed write is logged; the next heartbeat writes everything again.
        await write(
          [
            providerChange(entry, 'enrolled'),
            eventChange(entry, enrolledAt, ['enrolled', 'this machine']),
          ],
          parts,
        );
      }
      return { id: entry.id, gatewayToken: entry.gatewayToken };
    },
    /** Null if the id is not the adopted one. */
    async ownHeartbeat(id: string, record: AgentRecord) {
      const entry = table.get(id);
      if (entry === undefined || !entry.isOwn) return null;
      const { sequence } = entry.stored;
      return applyHeartbeat(entry, { record, sequence, ip: OWN_IP }, parts);
    },
  };
}

const OWN_PROVIDER: Refusal = {
  kind: 'refused',
  status: 409,
  code: 'own_provider',
  message:
    'This is the machine that the gateway runs on. Switch its agent off instead: set agent.enabled (INGLENOOK_AGENT) to false.',
};

/** The owner's actions on providers. */
function createProviderAdmin(parts: RegistryContext) {
  const { table, store, verifier } = parts;
  return {
    async remove(id: string) {
      const entry = table.get(id);
      if (entry === undefined) return providerNotFound(id);
      if (entry.isOwn) return OWN_PROVIDER;
      // Removed from memory first, so that a heartbeat that arrives meanwhile does not write it again.
      table.remove(id);
      const written = await write([{ kind: 'provider_removed', id }], parts);
      if (written.kind === 'unwritten') {
        if (table.get(id) === undefined) table.add(entry);
        return unwritten(written.message);
      }
      // Unless it has been enrolled again in the meantime.
      if (table.get(id) === undefined) verifier.removed(id);
      return answered({ id });
    },
    /** Requests a verification; does not wait for the run. */
    requestVerification(id: string) {
      const entry = table.get(id);
      if (entry === undefined || entry.shown === null) return providerNotFound(id);
      verifier.providerChanged(id, ['requested']);
      return answered({ id, verification: { status: verificationStateOf(entry) } }, 202);
    },
    async history(id: string) {
      if (table.get(id) === undefined) return providerNotFound(id);
      const events = await store.events(id);
      const data = events.map(({ at, kind, text }) => ({ at: isoTime(at), kind, text }));
      return answered({ object: 'list', data });
    },
  };
}

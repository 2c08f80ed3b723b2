import type { AgentRecord } from '#shared/provider.ts';
import { parsePublicKey } from '../platform/agent-identity.ts';
import { eventChange, type RegistryContext, providerChange, write } from './context.ts';
import { admit } from './enrollment.ts';
import { applyHeartbeat } from './heartbeat.ts';
import type { Answer, HeartbeatAnswer } from './responses.ts';

/** The agent of this process: enrolled automatically, its heartbeats need no signature. */
export interface OwnAgent {
  /** Enrols the agent; at later starts it is the same provider. */
  adoptOwn(publicKey: string): Promise<{ readonly id: string; readonly gatewayToken: string }>;
  /** Null if the id is not the adopted one. */
  ownHeartbeat(id: string, record: AgentRecord): Promise<Answer<HeartbeatAnswer> | null>;
}

/** The sender address of this process's own heartbeats. */
const OWN_IP = '127.0.0.1';

/** A loopback address leads each gateway to itself, so no other gateway may see this machine. */
const OWN_IN_POOL = { generation: 0, fence: 0, isOwn: true };

export function createOwnAgent(parts: RegistryContext): OwnAgent {
  const { table, sharing } = parts;
  return {
    async adoptOwn(text) {
      const publicKey = parsePublicKey(text);
      if (publicKey === null) throw new TypeError('the public key of the own agent is malformed');
      const known = [...table.all()].find(({ stored }) => stored.publicKey === publicKey.text);
      const entry = known ?? admit(publicKey.text, 0, parts).entry;
      entry.isOwn = true;
      if (sharing !== null) entry.stored = { ...entry.stored, pool: OWN_IN_POOL };
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
    async ownHeartbeat(id, record) {
      const entry = table.get(id);
      if (entry === undefined || !entry.isOwn) return null;
      const { sequence } = entry.stored;
      return applyHeartbeat(entry, { record, sequence, ip: OWN_IP }, parts);
    },
  };
}

import { z } from 'zod';
import { type RegistryContext, statusEvents, write } from './context.ts';
import { isForgotten } from './liveness.ts';
import type { Change, StoredState } from './store/store.ts';

/** Watches for silence while the registry runs. */
export interface Presence {
  start(): void;
  /** A provider has come, perhaps the first: without any there is nothing to watch. */
  wake(): void;
  /** Keeps until when the registry was there. */
  stop(): Promise<void>;
}

/** How soon silence is noticed in the history and the window; routing looks for itself. */
const SWEEP_MS = 1000;
/** How often it is kept that the registry is there. */
const ALIVE_MS = 15_000;
const DOCUMENT = 'registry';

/** Makes the watch; nothing runs before `start`. `gone` hears of a provider that is forgotten. */
export function createPresence(parts: RegistryContext, gone: (id: string) => void): Presence {
  const { roster, clock, verifier, log } = parts;
  let cancelTimer: (() => void) | null = null;
  let isRunning = false;
  let aliveTicks = -Infinity;

  function forget(id: string): Change {
    roster.remove(id);
    gone(id);
    verifier.removed(id);
    log('info', 'provider_forgotten', { id });
    return { kind: 'provider_removed', id };
  }

  function sweep(): void {
    const changes: Change[] = [];
    for (const entry of roster.all()) {
      const silentMs = roster.silentMs(entry);
      if (isForgotten(silentMs) && !entry.isOwn) {
        changes.push(forget(entry.id));
        continue;
      }
      const events = statusEvents(entry, parts);
      if (events.length > 0) roster.touch(entry);
      changes.push(...events);
    }
    if (clock.ticks() - aliveTicks >= ALIVE_MS) changes.push(alive());
    if (changes.length > 0) void write(changes, parts);
  }

  function alive(): Change {
    aliveTicks = clock.ticks();
    return { kind: 'document', name: DOCUMENT, json: JSON.stringify({ aliveAt: clock.now() }) };
  }

  function wake(): void {
    if (!isRunning || cancelTimer !== null || roster.isEmpty()) return;
    cancelTimer = clock.after(SWEEP_MS, () => {
      cancelTimer = null;
      sweep();
      wake();
    });
  }

  return {
    start() {
      // What a machine is now was told before the restart, or will be once it changes.
      for (const entry of roster.all()) entry.toldStatus ??= roster.status(entry);
      isRunning = true;
      wake();
    },
    wake,
    async stop() {
      isRunning = false;
      cancelTimer?.();
      await write([alive()], parts);
    },
  };
}

const aliveSchema = z.object({ aliveAt: z.number() });

/** When the registry was last there, as far as anything that was kept tells. */
export function lastAliveAt({ documents, providers }: StoredState): number {
  const heard = providers.map(({ lastHeartbeatAt }) => lastHeartbeatAt ?? 0);
  return heard.reduce((a, b) => Math.max(a, b), keptAliveAt(documents[DOCUMENT] ?? 'null'));
}

function keptAliveAt(json: string): number {
  try {
    return aliveSchema.safeParse(JSON.parse(json)).data?.aliveAt ?? 0;
  } catch {
    return 0;
  }
}

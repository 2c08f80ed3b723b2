import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Host, HostEdges } from '../../main/app/app.ts';
import { openUsageStore } from '../../main/gateway/usage/store.ts';
import { type Clock, systemClock } from '../../main/platform/clock.ts';
import { type Log, silentLog } from '../../main/platform/log.ts';
import { createMemoryStore } from '../../main/registry/store/open-store.ts';
import type { StoredState } from '../../main/registry/store/store.ts';
import type { ManualClock } from './clock.ts';
import { startHost } from './host.ts';

/** A gateway on a free loopback port, with a data directory of its own. */
export interface TestGateway {
  readonly url: string;
  readonly host: Host;
  readonly dataDirectory: string;
}

/** How long the host lets running requests finish. */
const STOP_GRACE_MS = 30_000;

/** A store in memory that begins with `state`: spares a gateway that has nothing to keep its database. */
export function remembering(state: Partial<StoredState> = {}): HostEdges['openStore'] {
  const whole = { providers: [], enrollments: [], documents: {}, ...state };
  const store = createMemoryStore('this test keeps nothing');
  return () => Promise.resolve({ kind: 'open', store, state: whole, warning: null });
}

/** A directory that goes with the test. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'inglenook-test-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/**
 * Starts a gateway from settings named as the environment names them, without the prefix; it is
 * stopped with the test. `clock` stands in for time, `log` for the log file.
 */
export function startGateway(
  settings: Readonly<Record<string, string>>,
  clock: Clock = systemClock,
  log: Log = silentLog,
  openStore: HostEdges['openStore'] = remembering(),
): Promise<TestGateway> {
  return startIn(temporaryDirectory(), settings, { clock, log, openStore });
}

/** As `startGateway`, with a history in the data directory. */
export function startWithHistory(
  settings: Readonly<Record<string, string>>,
  dataDirectory: string = temporaryDirectory(),
  clock: Clock = systemClock,
): Promise<TestGateway> {
  const openStore = remembering();
  const edges = { clock, log: silentLog, openStore, openUsage: openUsageStore };
  return startIn(dataDirectory, settings, edges);
}

/** In place of the process that asks systeminformation: it costs more than the gateway, and has tests of its own. */
export const tellNothing: NonNullable<HostEdges['startHelper']> = (_file, _topics, onData) => {
  onData(Buffer.from('{}'));
  return { ended: Promise.resolve({ kind: 'exited', code: 0, stderr: '' }), kill() {} };
};

async function startIn(
  dataDirectory: string,
  settings: Readonly<Record<string, string>>,
  edges: Omit<HostEdges, 'random'>,
): Promise<TestGateway> {
  // The middle of the range: the jittered pause before a retry is 125 ms.
  const all: HostEdges = { random: () => 0.5, startHelper: tellNothing, ...edges };
  const noWindow = join(dataDirectory, 'no-window');
  const { host, url } = await startHost(settings, dataDirectory, all, noWindow);
  onTestFinished(() => {
    const stopped = host.stop();
    // Time that stands still would wait for ever for a request that a failed test left running.
    if ('advance' in edges.clock) (edges.clock as ManualClock).advance(STOP_GRACE_MS);
    return stopped;
  });
  return { url, host, dataDirectory };
}

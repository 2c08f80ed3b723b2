import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, onTestFinished } from 'vitest';
import type { Host, HostEdges } from '../../main/app/app.ts';
import { type Clock, systemClock } from '../../main/platform/clock.ts';
import { type Log, silentLog } from '../../main/platform/log.ts';
import type { ManualClock } from './clock.ts';
import { openDatabaseHere } from './database.ts';
import { startHost } from './host.ts';

/** A gateway on a free loopback port, with a data directory of its own. */
export interface TestGateway {
  readonly url: string;
  readonly host: Host;
  readonly dataDirectory: string;
}

/** How long the host lets running requests finish. */
const STOP_GRACE_MS = 30_000;

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
export async function startGateway(
  settings: Readonly<Record<string, string>>,
  clock: Clock = systemClock,
  log: Log = silentLog,
  dataDirectory: string = temporaryDirectory(),
): Promise<TestGateway> {
  const gateway = await startAt(dataDirectory, settings, clock, log);
  onTestFinished(() => {
    const stopped = gateway.host.stop();
    // Time that stands still would wait for ever for a request that a failed test left running.
    if ('advance' in clock) (clock as ManualClock).advance(STOP_GRACE_MS);
    return stopped;
  });
  return gateway;
}

/** Starts one before the tests of a file that leave nothing behind in it. */
export function gatewayOfFile(settings: Readonly<Record<string, string>>): () => TestGateway {
  let gateway: TestGateway | null = null;
  beforeAll(async () => {
    const dataDirectory = mkdtempSync(join(tmpdir(), 'inglenook-test-'));
    const started = await startAt(dataDirectory, settings, systemClock, silentLog);
    gateway = started;
    return async () => {
      await started.host.stop();
      rmSync(dataDirectory, { recursive: true, force: true });
    };
  });
  return () => {
    if (gateway === null) throw new Error('it starts before the first test');
    return gateway;
  };
}

async function startAt(
  dataDirectory: string,
  settings: Readonly<Record<string, string>>,
  clock: Clock,
  log: Log,
): Promise<TestGateway> {
  // The middle of the range: the jittered pause before a retry is 125 ms.
  const random = () => 0.5;
  const edges = { clock, log, random, startHelper: tellNothing, openDatabase: openDatabaseHere };
  const noWindow = join(dataDirectory, 'no-window');
  const { host, url } = await startHost(settings, dataDirectory, edges, noWindow);
  return { url, host, dataDirectory };
}

/** As `startGateway`, in the data directory of an earlier run. */
export const startIn = (
  dataDirectory: string,
  settings: Readonly<Record<string, string>> = {},
  clock: Clock = systemClock,
) => startGateway(settings, clock, silentLog, dataDirectory);

/** In place of the process that asks systeminformation: it costs more than the gateway, and has tests of its own. */
export const tellNothing: NonNullable<HostEdges['startHelper']> = (_file, _topics, onData) => {
  onData(Buffer.from('{}'));
  return { ended: Promise.resolve({ kind: 'exited', code: 0, stderr: '' }), kill() {} };
};

/**
 * Loaded into the measured program ahead of its own code (`node --import`): measures how late its
 * event loop is and reports it on a port of its own, so that the program has nothing in it
 * for the bench. A question takes the figures since the last one.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

/** How late the event loop was since the last question, in milliseconds. */
export interface LoopDelay {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly mostMs: number;
  readonly samples: number;
}

/** Between two looks at the clock; a sample is the time that really went by, this included. */
const RESOLUTION_MS = 5;
const NS_PER_MS = 1e6;

// Threads of the program load it, too.
if (isMainThread) {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  const lateMs = (ns: number) => Math.max(0, ns / NS_PER_MS - RESOLUTION_MS);
  const server = createServer((_req, res) => {
    const figures: LoopDelay = {
      p50Ms: lateMs(delay.percentile(50)),
      p99Ms: lateMs(delay.percentile(99)),
      mostMs: lateMs(delay.max),
      samples: delay.count,
    };
    delay.reset();
    res.end(JSON.stringify(figures));
  });
  server.listen(0, '127.0.0.1', () => {
    process.stdout.write(`probe on ${(server.address() as AddressInfo).port}\n`);
  });
  server.unref();
}

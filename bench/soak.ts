/**
 * A million requests, half of which fail, at a gateway whose `local` refuses every connection. Meanwhile settings
 * change, machines come and go, and a window is open.
 */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { StatusReport } from '#shared/status.ts';
import { readControlToken } from '../main/platform/secrets.ts';
import { startMachine, type FaultMachine } from '../test/faults/machines.ts';
import { bearer, send } from '../test/support/http.ts';
import { createLedger, enrol, post, remove, shown } from '../test/support/registry-load.ts';
import type { Children } from './kit/children.ts';
import { median } from './kit/numbers.ts';
import { rssMb } from './kit/proc.ts';
import {
  freePort,
  openWindow,
  passingFrom,
  startGateway,
  startUpstream,
  type Gateway,
} from './kit/programs.ts';
import { startLoader, type Loader } from './load/loader.ts';
import { bound, whole, type Report } from './report.ts';

/** Requests in all, in batches, so that memory is seen on the way. */
const REQUESTS = 1_000_000;
const BATCHES = 40;
/** The heap takes its shape first; what it takes then is no growth. */
const WARM_UP_BATCHES = 6;
/** Memory goes up and down with the collector: so many looks make one figure. */
const LOOKS = 5;
const CONNECTIONS = 32;
/** No batch runs for longer, whatever the machine does meanwhile. */
const MOST_BATCH_MS = 120_000;
const CHANGE_MS = 1000;

/** The gateway as its owner and its machines reach it. */
interface Owned {
  readonly url: string;
  readonly controlToken: string;
}

/** Rejects when the counters are not exactly what the upstreams have seen. */
export async function soak(children: Children, directory: string): Promise<Report> {
  const upstreamPort = await startUpstream(children, 0);
  const gateway = await startGateway(children, join(directory, 'gateway'), {
    ...passingFrom(upstreamPort),
    INGLENOOK_LOCAL_ENGINE_URL: `http://127.0.0.1:${await freePort()}`,
    // `local` is to be asked every time.
    INGLENOOK_FAIL_THRESHOLD: '1000000',
  });
  const controlToken = readControlToken(gateway.dataDirectory) ?? '';
  const owned: Owned = { url: `http://127.0.0.1:${gateway.port}`, controlToken };
  const load = await startLoader(children);
  const feed = await openWindow(gateway);
  const settings = changeSettings(owned);
  const machines = startMachines(owned);
  const begunAt = performance.now();
  const sent = await sendBatches(gateway, owned, load);
  const seconds = (performance.now() - begunAt) / 1000;
  const [changes, come, events] = [await settings(), await machines(), feed.close()];
  await holdCounters(owned, sent, upstreamPort);
  const { requests, failed, looksMb } = sent;
  const [beforeMb, afterMb] = [median(looksMb.slice(0, LOOKS)), median(looksMb.slice(-LOOKS))];
  return {
    intro: `${requests} requests in ${whole(seconds)} s, ${failed} of them failing: RSS ${whole(beforeMb)} MB before, ${whole(afterMb)} MB after.`,
    tables: [],
    notes: [
      `After each batch: ${looksMb.map(whole).join(' ')} MB.`,
      `Meanwhile ${changes} changes of settings, ${events} events to an open window, ${come.enrolled} machines enrolled and ${come.removed} removed, ${come.heartbeats} heartbeats, ${come.inferences} test inferences. All counters are what the upstreams saw.`,
    ],
    bounds: [bound('RSS growth over a million requests', ' MB', afterMb - beforeMb, 16)],
  };
}

type Sent = Awaited<ReturnType<typeof sendBatches>>;

async function sendBatches(gateway: Gateway, owned: Owned, load: Loader) {
  const looksMb: number[] = [];
  let [requests, failed, all, allFailed] = [0, 0, 0, 0];
  const sendBatch = async (kind: 'plain' | 'failing') => {
    const requestsEach = Math.ceil(REQUESTS / BATCHES / 2 / CONNECTIONS);
    const batch = { kind, connections: CONNECTIONS, spreadMs: 0, requestsEach, ms: MOST_BATCH_MS };
    return (await load('soak', gateway, batch)).requests;
  };
  for (let batch = 0; batch < BATCHES + WARM_UP_BATCHES; batch += 1) {
    // A million failures in a row open even the most patient circuit.
    await order(owned, 'POST', 'circuits/local/reset', {});
    const [plain, failing] = [await sendBatch('plain'), await sendBatch('failing')];
    all += plain + failing;
    allFailed += failing;
    if (batch < WARM_UP_BATCHES) continue;
    requests += plain + failing;
    failed += failing;
    looksMb.push(rssMb(gateway.child.pid));
  }
  return { requests, failed, all, allFailed, looksMb };
}

async function order({ url, controlToken }: Owned, method: string, path: string, body: object) {
  const headers = { 'content-type': 'application/json', ...bearer(controlToken) };
  const answer = await send(`${url}/api/v1/${path}`, {
    method,
    headers,
    body: JSON.stringify(body),
  });
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
}

/** Takes a step again and again until it is stopped, which rejects with what a step threw. */
function repeating(pauseMs: number, step: () => Promise<void>): () => Promise<void> {
  const over = new AbortController();
  const running = (async () => {
    while (!over.signal.aborted) {
      await step();
      await pause(pauseMs);
    }
  })();
  running.catch(() => {});
  return () => {
    over.abort();
    return running;
  };
}

/** Settings that decide nothing here, so that what is counted stays known; stopping gives the number of changes. */
function changeSettings(owned: Owned): () => Promise<number> {
  let changes = 0;
  const stop = repeating(CHANGE_MS, async () => {
    changes += 1;
    const isOdd = changes % 2 === 1;
    await order(owned, 'PATCH', 'settings', {
      routing: { hedgeMs: isOdd ? 4000 : 6000 },
      hosted_c: { model: isOdd ? 'one' : 'another' },
    });
  });
  return async () => {
    await stop();
    return changes;
  };
}

/** Machines at a time; from then on one goes before another comes. */
const MOST_MACHINES = 8;
const MACHINE_STEP_MS = 250;

/**
 * Machines that enrol, report, are verified and leave again; stopping holds the registry's count of heartbeats against
 * what it acknowledged.
 */
function startMachines(owned: Owned) {
  const ledger = createLedger();
  const present: { readonly machine: FaultMachine; heartbeats: number }[] = [];
  let [enrolled, removed, heartbeats, inferences, steps] = [0, 0, 0, 0, 0];
  const close = (machine: FaultMachine) => {
    inferences += machine.inferences.all;
    machine.close();
  };
  const stop = repeating(MACHINE_STEP_MS, async () => {
    steps += 1;
    const isFull = present.length >= MOST_MACHINES;
    const oldest = isFull && steps % (4 * MOST_MACHINES) === 0 ? present.shift() : undefined;
    if (oldest !== undefined) {
      const { machine } = oldest;
      close(machine);
      const known = ledger.machines.get(machine.agent.id);
      if (known !== undefined) await remove(owned, ledger, known);
      removed += 1;
    }
    if (present.length < MOST_MACHINES) {
      // Each has a loopback address of its own.
      const host = `127.77.0.${1 + (enrolled % MOST_MACHINES)}`;
      const machine = await startMachine(host, { holdMs: () => 0 });
      await enrol(owned, ledger, machine.agent);
      present.push({ machine, heartbeats: 0 });
      enrolled += 1;
    }
    const next = present[steps % present.length];
    if (next === undefined) return;
    const { machine } = next;
    const answer = await post(owned, machine.agent.heartbeat(machine.record()));
    if (answer.status !== 200) throw new Error(`heartbeat: ${answer.text}`);
    next.heartbeats += 1;
    heartbeats += 1;
  });
  return async () => {
    await stop();
    for (const { machine, heartbeats: acknowledged } of present) {
      close(machine);
      // It is no machine of the list before its first heartbeat.
      if (acknowledged === 0) continue;
      const counted = (await shown(owned, machine.agent.id))?.heartbeat_count;
      if (counted !== acknowledged)
        throw new Error(`${counted} of ${acknowledged} heartbeats are counted`);
    }
    return { enrolled, removed, heartbeats, inferences };
  };
}

/** The counters, exactly: of what was sent, and of what the upstream saw; `local` is asked for each request. */
async function holdCounters(
  { url }: Owned,
  { all, allFailed }: Sent,
  upstreamPort: number,
): Promise<void> {
  const seen = Number((await send(`http://127.0.0.1:${upstreamPort}/seen`)).text);
  const { stats } = JSON.parse((await send(`${url}/api/v1/status`)).text) as StatusReport;
  const { local, hosted_a } = stats.perUpstream;
  const counted = { total: stats.totalRequests, fallbacks: stats.fallbackCount, local, hosted_a };
  const due = {
    total: all,
    // A request that only `local` may answer counts as well: it passed over it.
    fallbacks: all,
    local: { requests: all, fails: all, successes: 0 },
    hosted_a: { requests: seen, fails: 0, successes: all - allFailed },
  };
  if (JSON.stringify(counted) === JSON.stringify(due)) return;
  throw new Error(`counters are ${JSON.stringify(counted)}, due are ${JSON.stringify(due)}`);
}

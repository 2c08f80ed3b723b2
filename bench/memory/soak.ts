import { get } from 'node:http';
import { join } from 'node:path';
import type { StatusReport } from '#shared/status.ts';
import type { Children } from '../kit/children.ts';
import { controlOf, type Control } from '../kit/control.ts';
import { watchOthers } from '../kit/disturbance.ts';
import { startLoader, type Loader } from '../traffic/loader.ts';
import { median } from '../kit/numbers.ts';
import { freePort } from '../kit/ports.ts';
import { rssMb } from '../kit/proc.ts';
import { repeating } from '../kit/repeating.ts';
import { startMachines, type MachineFigures } from './soak-machines.ts';
import { startGateway, startUpstream, type Gateway } from '../kit/programs.ts';

/** What very many requests left behind. */
export interface SoakFigures {
  readonly requests: number;
  readonly failed: number;
  readonly beforeMb: number;
  readonly afterMb: number;
  /** Memory on the way, at the end of each batch. */
  readonly looksMb: readonly number[];
  readonly seconds: number;
  /** Changes of a setting, and events of the live feed that was open meanwhile. */
  readonly changes: number;
  readonly feedEvents: number;
  readonly machines: MachineFigures;
  /** The share of the machine that other programs used. */
  readonly others: number;
}

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

/**
 * Sends a million requests, half of which fail, at a gateway whose `local` refuses every connection. Meanwhile
 * settings change, machines come and go, and a window is open. Rejects when its counters are not exactly
 * what the upstreams have seen.
 */
export async function soak(children: Children, directory: string): Promise<SoakFigures> {
  const upstreamPort = await startUpstream(children, 0);
  const gateway = await startGateway(children, join(directory, 'gateway'), {
    SWITCHYARD_LOCAL_ENGINE_URL: `http://127.0.0.1:${await freePort()}`,
    SWITCHYARD_HOSTED_A_BASE_URL: `http://127.0.0.1:${upstreamPort}/v1`,
    SWITCHYARD_HOSTED_A_ASSEMBLE: 'false',
    // `local` is to be asked every time.
    SWITCHYARD_FAIL_THRESHOLD: '1000000',
  });
  const control = controlOf(gateway);
  const loader = await startLoader(children);
  const othersShare = watchOthers([process.pid, ...children.pids()]);
  const feed = openWindow(gateway);
  const settings = changeSettings(control);
  const machines = startMachines(control);
  const begunAt = performance.now();
  const sent = await sendBatches(gateway, control, loader);
  const seconds = (performance.now() - begunAt) / 1000;
  const [changes, machineFigures, feedEvents] = [
    await settings.stop(),
    await machines.stop(),
    feed.close(),
  ];
  await holdCounters(control, sent, upstreamPort);
  const { looksMb, requests, failed } = sent;
  return {
    requests,
    failed,
    beforeMb: median(looksMb.slice(0, LOOKS)),
    afterMb: median(looksMb.slice(-LOOKS)),
    looksMb,
    seconds,
    changes,
    feedEvents,
    machines: machineFigures,
    others: othersShare(),
  };
}

interface Sent {
  readonly requests: number;
  readonly failed: number;
  /** Both with those of the warm-up. */
  readonly all: number;
  readonly allFailed: number;
  readonly looksMb: readonly number[];
}

async function sendBatches(
  { port, child }: Gateway,
  control: Control,
  loader: Loader,
): Promise<Sent> {
  const { pid } = child;
  const looksMb: number[] = [];
  let [requests, failed, all, allFailed] = [0, 0, 0, 0];
  const send = async (kind: 'plain' | 'failing') => {
    const each = Math.ceil(REQUESTS / BATCHES / 2 / CONNECTIONS);
    const job = { kind, port, pid, connections: CONNECTIONS, spreadMs: 0 };
    const done = await loader.run('soak', { ...job, requestsEach: each, ms: MOST_BATCH_MS });
    return done.requests;
  };
  for (let batch = 0; batch < BATCHES + WARM_UP_BATCHES; batch += 1) {
    // A million failures in a row open even the most patient circuit.
    await control.post('circuits/local/reset', {});
    const [plain, failing] = [await send('plain'), await send('failing')];
    all += plain + failing;
    allFailed += failing;
    if (batch < WARM_UP_BATCHES) continue;
    requests += plain + failing;
    failed += failing;
    looksMb.push(rssMb(pid));
  }
  return { requests, failed, all, allFailed, looksMb };
}

/** Settings that decide nothing here, so that what is counted stays known. */
function changeSettings(control: Control) {
  let changes = 0;
  const running = repeating(CHANGE_MS, async () => {
    changes += 1;
    const isOdd = changes % 2 === 1;
    await control.patch('settings', {
      routing: { hedgeMs: isOdd ? 4000 : 6000 },
      hosted_c: { model: isOdd ? 'one' : 'another' },
    });
  });
  return {
    async stop(): Promise<number> {
      await running.stop();
      return changes;
    },
  };
}

/** Reads the live feed as an open window does; `close` gives the number of its events, and throws if it ended. */
function openWindow({ port }: Gateway): { readonly close: () => number } {
  let events = 0;
  let end: string | null = null;
  const req = get(`http://127.0.0.1:${port}/api/v1/events`, (res) => {
    res.setEncoding('utf8');
    res.on('data', (text: string) => (events += text.match(/^data:/gm)?.length ?? 0));
    res.on('close', () => (end ??= `it ended, status ${res.statusCode}`));
  });
  req.on('error', (error) => (end ??= error.message));
  return {
    close() {
      if (end !== null || events === 0) throw new Error(`the live feed: ${end ?? 'no event'}`);
      end = 'closed here';
      req.destroy();
      return events;
    },
  };
}

/** The counters, exactly: of what was sent, and of what the upstream saw; `local` is asked for each request. */
async function holdCounters(
  control: Control,
  { all, allFailed }: Sent,
  upstreamPort: number,
): Promise<void> {
  const seen = Number(await (await fetch(`http://127.0.0.1:${upstreamPort}/seen`)).text());
  const { stats } = await control.get<StatusReport>('status');
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

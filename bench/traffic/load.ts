/**
 * The load generator, a process of its own: does one job at a time, as told over IPC, and answers
 * with what it counted. It reads the target's CPU time itself, so that opening the connections and
 * talking to the one who gives the jobs are left out.
 */
import { messageOf } from '../../main/platform/errors.ts';
import type { LinkFailure } from '../kit/linked.ts';
import { createCheck, type AnswerKind } from './checks.ts';
import { connect, postBytes, type Connection } from './client.ts';
import { quantile } from '../kit/numbers.ts';
import { threadsCpuMs } from '../kit/proc.ts';
import { requestAtPace, requestOfBytes } from './traffic.ts';
import { type Api, eventsOf, type Wire, WIRES } from './wires.ts';

/** What to send, and how much of it. */
export interface Job {
  readonly kind: AnswerKind;
  /** Chat completions if there is none. */
  readonly api?: Api;
  readonly port: number;
  /** Of a plain request's body; that of a short conversation if there is none. */
  readonly bodyBytes?: number;
  /** Between two events of a stream; that of the fake upstream if there is none. */
  readonly paceMs?: number;
  /** Beside those that every request has. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The target whose CPU time is read; null if there is none between load and upstream. */
  readonly pid: number | null;
  readonly connections: number;
  /** The first requests of the connections are spread evenly over this time. */
  readonly spreadMs: number;
  /** Requests for each connection at most … */
  readonly requestsEach: number;
  /** … and none is begun after this time. */
  readonly ms: number;
}

/** What came of a job. */
export interface Outcome {
  readonly requests: number;
  readonly events: number;
  readonly wrong: number;
  /** The first few wrong answers, in words. */
  readonly mismatches: readonly string[];
  readonly cpuMs: number | null;
  readonly latencyP50Us: number;
  /** Of each stream: time to the first token less the upstream's own. */
  readonly firstTokensUs: readonly number[];
}

/** Answers that are streamed, to the caller or to the gateway. */
const STREAMED: ReadonlySet<AnswerKind> = new Set(['stream', 'assembled']);

/** Beyond its time a job may take so long for the answers that are under way. */
const GRACE_MS = 60_000;
const MISMATCHES_SHOWN = 3;

interface Tally {
  requests: number;
  wrong: number;
  readonly mismatches: string[];
  readonly latenciesUs: number[];
  readonly firstTokensUs: number[];
}

async function runJob(job: Job): Promise<Outcome> {
  const wire = WIRES[job.api ?? 'chat'];
  const extra = {
    ...job.headers,
    ...(job.kind === 'failing' ? { 'x-gateway-force-zero': '1' } : {}),
  };
  const request = postBytes({ port: job.port, path: wire.path, extra }, bodyOf(job, wire));
  const tally: Tally = {
    requests: 0,
    wrong: 0,
    mismatches: [],
    latenciesUs: [],
    firstTokensUs: [],
  };
  // A gateway lets few connections wait that have not asked anything: those that ask later are opened later.
  const open = () => connect(job.port);
  const early = job.spreadMs === 0 ? await Promise.all(many(job.connections, open)) : [];
  const connections = [...early];
  const connectionAt = async (index: number) => {
    const connection = early[index] ?? (await open());
    if (early[index] === undefined) connections.push(connection);
    return connection;
  };
  const spentMs = () => (job.pid === null ? null : threadsCpuMs(job.pid));
  const cpuBefore = spentMs();
  let cpuAfter: number | null;
  const endAt = performance.now() + job.ms;
  try {
    await within(
      job.ms + GRACE_MS,
      Promise.all(
        many(job.connections, async (index) => {
          await pause((job.spreadMs * index) / job.connections);
          await askAgainAndAgain(await connectionAt(index), request, { job, endAt, tally });
        }),
      ),
    );
    cpuAfter = spentMs();
  } finally {
    for (const connection of connections) connection.close();
  }
  return {
    requests: tally.requests,
    events: STREAMED.has(job.kind) ? tally.requests * eventsOf(wire) : 0,
    wrong: tally.wrong,
    mismatches: tally.mismatches,
    cpuMs: cpuBefore === null || cpuAfter === null ? null : cpuAfter - cpuBefore,
    latencyP50Us: quantile(tally.latenciesUs, 0.5),
    firstTokensUs: tally.firstTokensUs,
  };
}

function bodyOf({ kind, bodyBytes, paceMs }: Job, wire: Wire): Buffer {
  if (kind === 'stream') return paceMs === undefined ? wire.streamRequest : requestAtPace(paceMs);
  return bodyBytes === undefined ? wire.plainRequest : requestOfBytes(bodyBytes);
}

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

async function askAgainAndAgain(
  connection: Connection,
  request: Buffer,
  { job, endAt, tally }: { readonly job: Job; readonly endAt: number; readonly tally: Tally },
): Promise<void> {
  for (let asked = 0; asked < job.requestsEach && performance.now() < endAt; asked += 1) {
    const begunAt = performance.now();
    const check = createCheck(job.kind, job.api);
    try {
      await connection.ask(request, check);
    } catch (error) {
      note(tally, `broken: ${messageOf(error)}`);
      return;
    }
    tally.latenciesUs.push((performance.now() - begunAt) * 1000);
    tally.requests += 1;
    const problem = check.problem();
    if (problem !== null) note(tally, problem);
    const firstTokenUs = check.firstTokenUs();
    if (firstTokenUs !== null) tally.firstTokensUs.push(firstTokenUs);
  }
}

function note(tally: Tally, problem: string): void {
  tally.wrong += 1;
  if (tally.mismatches.length < MISMATCHES_SHOWN) tally.mismatches.push(problem);
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}

/** What is sent back: what came of the job, or why nothing did. */
export type Reply = 'ready' | Outcome;

process.on('message', (job: Job) => {
  runJob(job).then(
    (outcome) => process.send?.(outcome satisfies Reply),
    (error: unknown) => process.send?.({ error: messageOf(error) } satisfies LinkFailure),
  );
});
// The one who gives the jobs is gone.
process.on('disconnect', () => process.exit());
process.send?.('ready' satisfies Reply);

/**
 * The load generator, a process of its own: does one job at a time, as told over IPC, and answers with what it
 * counted. It reads the target's CPU time itself, so that talking to the one who gives the jobs is left out.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../../main/platform/errors.ts';
import type { LinkFailure } from '../kit/children.ts';
import { threadsCpuMs } from '../kit/proc.ts';
import { connect, createCheck, type Connection } from './exchange.ts';
import type { Job, Outcome } from './loader.ts';
import { eventsOf, TOKENS, WIRE } from './wires.ts';

/** Beyond its time a job may take so long for the answers that are under way. */
const GRACE_MS = 60_000;
const MISMATCHES_SHOWN = 3;

const SENT = {
  plain: { body: WIRE.plainRequest, events: 0 },
  assembled: { body: WIRE.plainRequest, events: 0 },
  brief: { body: WIRE.streamRequests.brief, events: eventsOf(TOKENS.brief) },
  stream: { body: WIRE.streamRequests.stream, events: eventsOf(TOKENS.stream) },
  long: { body: WIRE.streamRequests.long, events: eventsOf(TOKENS.long) },
} as const;

async function runJob(job: Job): Promise<Outcome> {
  const { port, pid, kind, ms } = job;
  const { body, events } = SENT[kind];
  const connections: Connection[] = [];
  let requests = 0;
  const firstTokensUs: number[] = [];
  const problems: string[] = [];
  const spentMs = () => (pid === null ? Number.NaN : threadsCpuMs(pid));
  const endAt = performance.now() + ms;

  async function askAgainAndAgain(index: number): Promise<void> {
    await pause((job.spreadMs * index) / job.connections);
    const connection = connect(port);
    connections.push(connection);
    for (let asked = 0; asked < job.requestsEach && performance.now() < endAt; asked += 1) {
      const check = createCheck(kind);
      try {
        await connection.ask(body, check);
      } catch (error) {
        problems.push(`broken: ${messageOf(error)}`);
        return;
      }
      requests += 1;
      const [problem, firstTokenUs] = [check.problem(), check.firstTokenUs()];
      if (problem !== null) problems.push(problem);
      if (firstTokenUs !== null) firstTokensUs.push(firstTokenUs);
    }
  }

  const before = spentMs();
  try {
    await within(
      ms + GRACE_MS,
      Array.from({ length: job.connections }, (_, at) => askAgainAndAgain(at)),
    );
    return {
      requests,
      events: requests * events,
      wrong: problems.length,
      mismatches: problems.slice(0, MISMATCHES_SHOWN),
      cpuMs: spentMs() - before,
      firstTokensUs,
    };
  } finally {
    for (const connection of connections) connection.close();
  }
}

async function within(ms: number, work: readonly Promise<void>[]): Promise<void> {
  const late = pause(ms, null, { ref: false }).then(() => {
    throw new Error(`no answer within ${ms} ms`);
  });
  late.catch(() => {});
  await Promise.race([Promise.all(work), late]);
}

process.on('message', (job: Job) => {
  runJob(job).then(
    (outcome) => process.send?.(outcome satisfies Outcome),
    (error: unknown) => process.send?.({ error: messageOf(error) } satisfies LinkFailure),
  );
});
// The one who gives the jobs is gone.
process.on('disconnect', () => process.exit());
process.send?.('ready');

import type { Clock } from '../../../platform/clock.ts';
import { readChanges } from './reading.ts';
import type {
  GatewayFigures,
  GatewayInPool,
  GatewayStanding,
  PoolChanges,
  PoolWorkerData,
} from './protocol.ts';
import { type Session, writerOf } from './session.ts';

/** Reads what all gateways have committed, when it is announced and every now and then. */
export interface PoolReader {
  /** Everything, for a session that has just begun; resolves once it is read. */
  begin(session: Session): Promise<void>;
  /** Something may have been committed. */
  wake(): void;
  /** Resolves once all is read that was committed before the call, or the database is away. */
  refresh(): Promise<void>;
  revision(): number;
}

interface ReaderDeps {
  readonly data: PoolWorkerData;
  readonly clock: Clock;
  readonly session: () => Session | null;
  readonly onChanges: (changes: PoolChanges) => void;
  readonly onFailure: (error: unknown) => void;
}

/** Announcements within this time are read together. */
const GATHER_MS = 20;
/** Removals are kept for an hour; after half of that without reading, everything is read. */
const GAP_MS = 1_800_000;
/** Providers handed on at a time, so that the gateway's thread is never held up for long. */
const PIECE = 100;

export function createPoolReader(deps: ReaderDeps): PoolReader {
  const { clock, data, onChanges } = deps;
  const writer = writerOf(data);
  let revision = -1;
  let readTicks = -Infinity;
  let running: Promise<void> | null = null;
  /** It begins when the running one has ended, and sees what was committed until then. */
  let queued: Promise<void> | null = null;
  let isArmed = false;

  async function read(session: Session): Promise<void> {
    const startedTicks = clock.ticks();
    let isComplete = startedTicks - readTicks > GAP_MS;
    let isLast = false;
    while (!isLast) {
      const after = { revision: isComplete ? -1 : revision, isComplete };
      const page = await readChanges(session.reader, after, writer);
      handOn(page.changes, onChanges);
      ({ revision, isLast } = page);
      isComplete = false;
    }
    readTicks = startedTicks;
  }

  /** One reading at a time, and one that waits, however many ask; a failure gives the session up. */
  function readAgain(): Promise<void> {
    if (running === null) return start();
    queued ??= running.then(() => {
      queued = null;
      return start();
    });
    return queued;
  }

  function start(): Promise<void> {
    const session = deps.session();
    if (session === null) return Promise.resolve();
    running = read(session)
      .catch(deps.onFailure)
      .finally(() => (running = null));
    return running;
  }

  return {
    async begin(session) {
      readTicks = -Infinity;
      await read(session);
    },
    wake() {
      if (isArmed) return;
      isArmed = true;
      clock.after(GATHER_MS, () => {
        isArmed = false;
        void readAgain();
      });
    },
    refresh: readAgain,
    revision: () => revision,
  };
}

function handOn(changes: PoolChanges, onChanges: (piece: PoolChanges) => void): void {
  const { providers, ...rest } = changes;
  const { enrollments, documents, removed, all } = rest;
  const count = enrollments.length + Object.keys(documents).length + removed.length;
  const isNothing = count === 0 && all === null;
  if (!isNothing) onChanges({ ...rest, providers: [] });
  for (let at = 0; at < providers.length; at += PIECE)
    onChanges({
      providers: providers.slice(at, at + PIECE),
      enrollments: [],
      documents: {},
      removed: [],
      all: null,
    });
}

/** Says that this gateway is there, and who else is. */
export async function meet(
  { reader }: Session,
  { id, run, host, version }: GatewayInPool,
  { revision, machines, in_flight, requests }: GatewayFigures & { readonly revision: number },
): Promise<readonly GatewayStanding[]> {
  await reader.query(
    `INSERT INTO switchyard.gateways (id, run, host, version, revision, machines, in_flight, requests)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
     ON CONFLICT (id) DO UPDATE SET run = excluded.run, host = excluded.host, version = excluded.version,
       revision = excluded.revision, machines = excluded.machines, in_flight = excluded.in_flight,
       requests = excluded.requests, seen_at = clock_timestamp(),
       started_at = CASE WHEN switchyard.gateways.run = excluded.run THEN switchyard.gateways.started_at
         ELSE clock_timestamp() END`,
    [id, run, host, version, revision, machines, in_flight, requests],
  );
  return readMembers(reader);
}

/** A gateway that was not there for a day is left out. */
export function readMembers(connection: Session['reader']): Promise<readonly GatewayStanding[]> {
  return connection.query<GatewayStanding>(
    `SELECT g.id, g.host, g.version,
       to_char(g.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS started_at,
       floor(greatest(0, extract(epoch FROM clock_timestamp() - g.seen_at)) * 1000)::float8 AS seen_ms,
       greatest(0, p.revision - g.revision)::float8 AS behind, g.machines::float8 AS machines,
       g.in_flight::float8 AS in_flight, g.requests::float8 AS requests,
       (SELECT count(*) FROM switchyard.leases l WHERE l.holder = g.run AND l.until > clock_timestamp())::float8 AS leases
     FROM switchyard.gateways g, switchyard.pool p WHERE g.seen_at > clock_timestamp() - interval '1 day'
     ORDER BY g.host, g.id`,
  );
}

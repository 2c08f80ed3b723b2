import type { Clock } from '../platform/clock.ts';
import type { Unusable } from '../registry/store/errors.ts';
import { CHANNEL, prepareCommits } from './commit.ts';
import { POOL_TIMES, type PoolWorkerData, type SharedPrefix } from './protocol.ts';
import {
  connect,
  type Connection,
  type Session,
  databaseFailureOf,
  explainDatabase,
} from './connection.ts';
import { NEWS_CHANNEL, PREFIX_CHANNEL, prefixesIn, prepareExchange } from './circuit-exchange.ts';
import { migrate, MIGRATIONS } from './migrations.ts';

/** Another gateway may be migrating many rows at the same time. */
const MIGRATION_MS = 120_000;
const RETRY_MS = 1000;

export type SessionState =
  | { readonly kind: 'connected'; readonly session: Session }
  | { readonly kind: 'away'; readonly message: string }
  /** A person has to act, and restart the gateway. */
  | Unusable;

interface KeeperDeps {
  readonly data: PoolWorkerData;
  readonly clock: Clock;
  readonly onState: (state: SessionState) => void;
  /** Called when a commit is announced. */
  readonly onCommit: () => void;
  readonly onNews: () => void;
  readonly onPrefixes: (prefixes: readonly SharedPrefix[]) => void;
}

/** Keeps a session open, and reopens it after each loss, until it is stopped. */
export function createSessionKeeper(deps: KeeperDeps) {
  const { data, clock, onState } = deps;
  let session: Session | null = null;
  let isStopped = false;
  let cancelRetry: (() => void) | null = null;

  const explained = (error: unknown) => explainDatabase(databaseFailureOf(error), data.shown);

  async function open(): Promise<void> {
    try {
      const refused = await migrated(data);
      if (isStopped) return;
      if (refused !== null) return onState(refused);
      const opened = await openSession(deps);
      if (isStopped) return opened.end();
      session = opened;
      void watch(opened);
      onState({ kind: 'connected', session: opened });
    } catch (error) {
      if (isStopped) return;
      onState({ kind: 'away', message: explained(error) });
      retryLater();
    }
  }

  async function watch(opened: Session): Promise<void> {
    await Promise.race([opened.writer.lost, opened.reader.lost]);
    if (session === opened) giveUp(null);
  }

  function retryLater(): void {
    cancelRetry ??= clock.after(RETRY_MS, () => {
      cancelRetry = null;
      void open();
    });
  }

  function giveUp(error: unknown): void {
    if (session === null || isStopped) return;
    session.end();
    session = null;
    onState({ kind: 'away', message: explained(error) });
    retryLater();
  }

  void open();
  return {
    /** Null while the database does not answer. */
    current: (): Session | null => session,
    /** The session has failed: it is given up and another one opened. */
    giveUp,
    stop(): void {
      isStopped = true;
      cancelRetry?.();
      session?.end();
      session = null;
    },
  };
}

/** Null if the schema is current; otherwise why this gateway must not use the database. */
async function migrated({
  url,
  shown,
  secretDigest,
  times: { answerMs } = POOL_TIMES,
}: PoolWorkerData): Promise<SessionState | null> {
  const connection = await connect({ url, timeoutMs: MIGRATION_MS, connectMs: answerMs });
  try {
    const result = await migrate(connection, MIGRATIONS, secretDigest);
    if (result.kind === 'current') return null;
    if (result.kind === 'other_secret') {
      const message = `The pool's database ${shown} belongs to gateways with another secret: copy the file gateway-secret from the data directory of one of them into that of this one, or give all of them one INGLENOOK_POOL_SECRET, and restart Inglenook.`;
      return { kind: 'unusable', reason: 'failed', message };
    }
    const message =
      `The pool's database ${shown} was set up by a newer Inglenook (schema ${result.version}, this one knows ` +
      `${MIGRATIONS.length}) and was left untouched: install the newer version.`;
    return { kind: 'unusable', reason: 'newer_schema', message };
  } finally {
    connection.destroy();
  }
}

async function openSession({ data, onCommit, onNews, onPrefixes }: KeeperDeps): Promise<Session> {
  const { url, gateway, times: { answerMs } = POOL_TIMES } = data;
  function onNotification(channel: string, payload: string): void {
    switch (channel) {
      case CHANNEL:
        return onCommit();
      case NEWS_CHANNEL:
        return payload === gateway.run ? undefined : onNews();
      case PREFIX_CHANNEL: {
        const prefixes = prefixesIn(payload, gateway.run);
        if (prefixes.length > 0) onPrefixes(prefixes);
      }
    }
  }
  const writer = await connect({ url, timeoutMs: answerMs });
  let reader: Connection | null = null;
  function end(): void {
    writer.destroy();
    reader?.destroy();
  }
  try {
    await prepareCommits(writer);
    reader = await connect({ url, timeoutMs: answerMs, onNotification });
    await reader.run(`LISTEN ${CHANNEL}; LISTEN ${NEWS_CHANNEL}; LISTEN ${PREFIX_CHANNEL}`);
    await prepareExchange(reader);
    return { writer, reader, end };
  } catch (error) {
    end();
    throw error;
  }
}

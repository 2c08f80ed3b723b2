import { PROVIDER_PREFIX, UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import type { Prefixes } from '../gateway/routing/prefixes.ts';
import { MAX_PREFIXES, type SharedPrefix, type PoolAnswer } from './protocol.ts';
import { createHmac } from 'node:crypto';
import { perConfig } from '../config/live-config.ts';
import type { Config } from '../config/schema.ts';
import type { Stats } from '../gateway/monitoring/counters.ts';
import { identityOf } from '../gateway/monitoring/saved-state.ts';
import type { OtherGateways } from '../gateway/other-gateways.ts';
import type { Clock } from '../platform/clock.ts';
import { isLoopbackHost } from '../platform/http/server.ts';
import type { Pool } from './client.ts';
import { createSharedCircuits, type SharedCircuits } from './shared-circuits.ts';

type SharedPrefixes = ReturnType<typeof createSharedPrefixes>;

/** What machines have read, from all gateways together. The others are told at the next exchange, of the latest prompts. */
export function createSharedPrefixes(own: Prefixes, isKnown: (id: string) => boolean) {
  let untold: SharedPrefix[] = [];
  const prefixes: Prefixes = {
    ...own,
    read(id, prompt) {
      const inShort = own.read(id, prompt);
      if (id.startsWith(PROVIDER_PREFIX)) {
        if (untold.length === MAX_PREFIXES) untold.shift();
        untold.push({ machine: id, ...inShort });
      }
      return inShort;
    },
  };
  return {
    prefixes,
    /** Once: if the database is away, a prompt is read again at worst. */
    outgoing: (): readonly SharedPrefix[] => {
      const told = untold;
      untold = [];
      return told;
    },
    received: (told: readonly SharedPrefix[]): void => {
      for (const { machine, ...prompt } of told) if (isKnown(machine)) own.read(machine, prompt);
    },
  };
}

/** Sends the other gateways of the pool what this one has learnt, and receives what they have. */
type PoolExchange = ReturnType<typeof createPoolExchange>;

interface ExchangeDeps {
  readonly port: PoolPort;
  readonly clock: Clock;
  readonly stats: Pick<Stats, 'running'>;
  readonly circuits: Pick<SharedCircuits, 'outgoing' | 'received'>;
  readonly prefixes: Pick<SharedPrefixes, 'outgoing'>;
}

const INTERVAL_MS = 1000;
/** Changes within this time are sent together. */
const BATCH_MS = 50;
/** If the database has not answered for this long, the figures of the others no longer count. */
const SILENCE_MS = 5000;

const NOWHERE: PoolAnswer['inFlight'] = {};

function createPoolExchange(deps: ExchangeDeps) {
  const { port, clock, circuits, prefixes } = deps;
  let elsewhere = NOWHERE;
  let answeredTicks = -Infinity;
  let isRunning = false;
  let isSending = false;
  /** There was news during the exchange. */
  let hasMoreNews = false;
  let dueTicks = Infinity;
  let cancelTimer = () => {};

  function plan(ms: number): void {
    const ticks = clock.ticks() + ms;
    if (!isRunning || isSending || ticks >= dueTicks) return;
    cancelTimer();
    dueTicks = ticks;
    cancelTimer = clock.after(ms, () => void send());
  }

  async function send(): Promise<void> {
    dueTicks = Infinity;
    isSending = true;
    hasMoreNews = false;
    const sentTicks = clock.ticks();
    const figures = { inFlight: figuresOf(deps.stats), prefixes: prefixes.outgoing() };
    const update = { ...circuits.outgoing(), ...figures };
    const answer = await port.exchange(update);
    if (answer !== null) {
      elsewhere = answer.inFlight;
      answeredTicks = clock.ticks();
    } else if (clock.ticks() - answeredTicks > SILENCE_MS) elsewhere = NOWHERE;
    isSending = false;
    circuits.received(answer, sentTicks);
    // Without the database, sending early is pointless.
    plan(hasMoreNews && answer !== null ? BATCH_MS : INTERVAL_MS);
  }

  function soon(): void {
    hasMoreNews = true;
    plan(BATCH_MS);
  }

  port.onNews(soon);
  return {
    /** Running requests of the other gateways at a machine, as of the last second. */
    inFlightElsewhere: (id: string): number => elsewhere[id] ?? 0,
    changed: soon,
    start(): void {
      isRunning = true;
      plan(0);
    },
    stop(): void {
      isRunning = false;
      cancelTimer();
    },
  };
}

function figuresOf({ running }: Pick<Stats, 'running'>): Readonly<Record<string, number>> {
  return Object.fromEntries([...running()].filter(([id]) => id.startsWith(PROVIDER_PREFIX)));
}

interface GatewaySharingDeps {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly config: () => Config;
  /** The same at all gateways of the pool. */
  readonly gatewaySecret: string;
  readonly isKnown: (id: string) => boolean;
}

type PoolPort = Pick<Pool, 'gateway' | 'status' | 'exchange' | 'onNews' | 'onPrefixes'>;

export function createGatewaySharing(port: PoolPort, deps: GatewaySharingDeps): OtherGateways {
  const { clock, random, config } = deps;
  const namesIn = perConfig((now) => upstreamNames(now, port.gateway.id, deps.gatewaySecret));
  const nameOf = (id: string) => namesIn(config()).get(id) ?? id;
  const isUpstream = (id: string) => UPSTREAM_IDS.some((each) => each === id);
  let shared: SharedCircuits | null = null;
  let prefixes: SharedPrefixes | null = null;
  let exchange: PoolExchange | null = null;

  return {
    share(own) {
      shared = createSharedCircuits(own, {
        clock,
        random,
        isAlone: () => port.status().database === 'away',
        nameOf,
        isKnown: (id) => isUpstream(id) || deps.isKnown(id),
        changed: () => exchange?.changed(),
      });
      return shared.circuits;
    },
    sharePrefixes(own) {
      const all = createSharedPrefixes(own, deps.isKnown);
      port.onPrefixes(all.received);
      prefixes = all;
      return all.prefixes;
    },
    inFlightBeside: (stats) => (id) =>
      stats.inFlightAt(id) + (exchange?.inFlightElsewhere(id) ?? 0),
    start(stats) {
      if (shared === null || prefixes === null) return;
      exchange = createPoolExchange({ port, clock, stats, circuits: shared, prefixes });
      exchange.start();
    },
    stop: () => exchange?.stop(),
  };
}

/** Gateways share what they know about an upstream if its address and key are the same at both. */
function upstreamNames(
  config: Config,
  gateway: string,
  secret: string,
): ReadonlyMap<string, string> {
  const ownerOf = (id: UpstreamId) => {
    const { baseUrl } = config[id];
    const isOwn = baseUrl !== null && isLoopbackHost(new URL(baseUrl).hostname);
    return isOwn ? gateway : '';
  };
  // Does not reveal the key of the upstream.
  const digest = (text: string) =>
    createHmac('sha256', secret).update(text).digest('hex').slice(0, 16);
  return new Map(
    UPSTREAM_IDS.map((id) => [id, `${id} ${digest(identityOf(config, id) + ownerOf(id))}`]),
  );
}

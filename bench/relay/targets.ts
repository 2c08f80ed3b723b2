import { join } from 'node:path';
import type { Children } from '../kit/children.ts';
import { freePort } from '../kit/ports.ts';
import {
  startGateway,
  startProxy,
  startUpstream,
  type Gateway,
  type Program,
  type Target,
} from '../kit/programs.ts';
import { startHaproxy, startNginx, startPortkey, type Peer } from './peers.ts';

/** What the same load is sent through, in the order of the tables; `bare` is what the others are held against. */
export const COMPARED = ['bare', 'node:http', 'nginx', 'haproxy', 'gateway', 'portkey'] as const;
export type Compared = (typeof COMPARED)[number];

/** A figure of each that is measured; those that are not there are left out. */
export type OfCompared<T> = Readonly<Partial<Record<Compared, T>>>;

/** All that is measured. */
export interface Targets {
  readonly direct: Target;
  readonly compared: OfCompared<Program>;
  /** Why some are not compared. */
  readonly skipped: readonly string[];
  /** Passes plain answers through: assembling is off. Also among `compared`. */
  readonly gateway: Gateway;
  /** Asks for a stream and puts the plain answer together, as is the default. */
  readonly assembling: Target;
  /** As `gateway`, with a `local` that refuses every connection. */
  readonly failingOver: Gateway;
  /** As `failingOver`, its circuit open after the first failure. */
  readonly passingBy: Target;
}

/** Starts all targets in front of one fake upstream; their files go to `directory`. */
export async function startTargets(
  children: Children,
  directory: string,
  { paceMs, withPortkey }: { readonly paceMs: number; readonly withPortkey: boolean },
): Promise<Targets> {
  const upstreamPort = await startUpstream(children, paceMs);
  const hosted = { SWITCHYARD_HOSTED_A_BASE_URL: `http://127.0.0.1:${upstreamPort}/v1` };
  const passing = { ...hosted, SWITCHYARD_HOSTED_A_ASSEMBLE: 'false' };
  const refusing = {
    ...passing,
    SWITCHYARD_LOCAL_ENGINE_URL: `http://127.0.0.1:${await freePort()}`,
  };
  const gateway = (name: string, env: Readonly<Record<string, string>>) =>
    startGateway(children, join(directory, name), env);
  const peers: readonly (readonly [Compared, Peer])[] = [
    ['nginx', await startNginx(children, join(directory, 'nginx'), upstreamPort)],
    ['haproxy', await startHaproxy(children, join(directory, 'haproxy'), upstreamPort)],
    ['portkey', await startPortkey(children, upstreamPort, withPortkey)],
  ];
  const measured = await gateway('gateway', passing);
  return {
    direct: { port: upstreamPort, child: null },
    compared: {
      bare: await startProxy(children, 'pool-proxy.ts', upstreamPort),
      'node:http': await startProxy(children, 'http-proxy.ts', upstreamPort),
      gateway: measured,
      ...Object.fromEntries(
        peers.flatMap(([name, peer]) => (peer.kind === 'running' ? [[name, peer.program]] : [])),
      ),
    },
    skipped: peers.flatMap(([name, peer]) =>
      peer.kind === 'skipped' ? [`SKIPPED: ${name}: ${peer.why}`] : [],
    ),
    gateway: measured,
    assembling: await gateway('assembling', hosted),
    failingOver: await gateway('failing-over', {
      ...refusing,
      // The tax of a closed circuit is asked for: `local` must be tried every time.
      SWITCHYARD_FAIL_THRESHOLD: '1000000',
    }),
    passingBy: await gateway('passing-by', {
      ...refusing,
      SWITCHYARD_FAIL_THRESHOLD: '1',
      SWITCHYARD_COOLDOWN_MS: '86400000',
    }),
  };
}

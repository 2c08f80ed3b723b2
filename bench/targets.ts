import { join } from 'node:path';
import { saying, type Child, type Children } from './children.ts';
import { hasNginx, startNginx } from './nginx.ts';
import { freePort } from './ports.ts';

/** What answers the load's requests. */
export interface Target {
  readonly port: number;
  /** Null for the upstream itself, asked directly. */
  readonly child: Child | null;
}

/** A gateway process, with the directory where its control token is. */
export interface Gateway extends Target {
  readonly child: Child;
  readonly dataDirectory: string;
}

/** All that is measured. */
export interface Targets {
  readonly direct: Target;
  readonly bare: Target;
  /** Null where it is not installed. */
  readonly nginx: Target | null;
  /** Passes plain answers through: assembling is off. */
  readonly gateway: Gateway;
  /** Asks for a stream and puts the plain answer together, as is the default. */
  readonly assembling: Target;
  /** As `gateway`, with a `local` that refuses every connection. */
  readonly failingOver: Gateway;
  /** As `failingOver`, its circuit open after the first failure. */
  readonly passingBy: Target;
}

const LISTENING = /listening on (\d+)/;

/** Starts all targets in front of one fake upstream; their files go to `directory`. */
export async function startTargets(
  children: Children,
  directory: string,
  paceMs: number,
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
  return {
    direct: { port: upstreamPort, child: null },
    bare: await startBare(children, upstreamPort),
    nginx: hasNginx() ? await startNginx(children, join(directory, 'nginx'), upstreamPort) : null,
    gateway: await gateway('gateway', passing),
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

/** Starts the fake upstream and gives its port. */
export async function startUpstream(children: Children, paceMs: number): Promise<number> {
  const file = join(import.meta.dirname, 'fake-upstream.ts');
  const upstream = children.start('load', [process.execPath, file, String(paceMs)]);
  return Number(await saying(upstream, LISTENING));
}

async function startBare(children: Children, upstreamPort: number): Promise<Target> {
  const file = join(import.meta.dirname, 'bare-proxy.ts');
  const child = children.start('target', [process.execPath, file, String(upstreamPort)]);
  return { port: Number(await saying(child, LISTENING)), child };
}

/** Starts the gateway of a checkout, in front of what `env` says; its files go to `dataDirectory`. */
export async function startGateway(
  children: Children,
  dataDirectory: string,
  env: Readonly<Record<string, string>>,
  checkout: string = join(import.meta.dirname, '..'),
): Promise<Gateway> {
  const file = join(checkout, 'main/headless.ts');
  const child = children.start('target', [process.execPath, file], {
    SWITCHYARD_DATA_DIR: dataDirectory,
    SWITCHYARD_PORT: '0',
    SWITCHYARD_AGENT: 'false',
    ...env,
  });
  return {
    port: Number(await saying(child, /Base URL for your apps: http:\/\/\S+:(\d+)\//)),
    child,
    dataDirectory,
  };
}

import { join } from 'node:path';
import { saying, type Child, type Children, type Place } from './children.ts';
import type { LoopDelay } from './loop-probe.ts';

/** What answers the load's requests. */
export interface Target {
  readonly port: number;
  /** Null for the upstream itself, asked directly. */
  readonly child: Child | null;
  /** What it needs to know of each request. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A target that is a process. */
export interface Program extends Target {
  readonly child: Child;
}

/** A gateway process, with the directory where its control token is. */
export interface Gateway extends Program {
  readonly dataDirectory: string;
}

const ROOT = join(import.meta.dirname, '../..');
const LISTENING = /listening on (\d+)/;
const PROBE = ['--import', join(import.meta.dirname, 'loop-probe.ts')];
const PROBE_PORT = /probe on (\d+)/;
/** What the gateway prints once it listens. */
export const BASE_URL = /Base URL for your apps: http:\/\/\S+:(\d+)\//;

/** A program with a probe of its event loop (loop-probe.ts). */
export type Probed<T extends Program> = T & { readonly probePort: number };

/** Starts a script whose first word of `ready` is its port. */
async function launch(
  children: Children,
  script: readonly string[],
  ready: RegExp,
  env: Readonly<Record<string, string>> = {},
): Promise<Program> {
  const child = children.start('target', [process.execPath, ...script], env);
  return { port: Number(await saying(child, ready)), child };
}

interface LaunchOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly place?: Place;
}

async function launchProbed(
  children: Children,
  script: readonly string[],
  ready: RegExp,
  { env = {}, place = 'target' }: LaunchOptions = {},
): Promise<Probed<Program>> {
  const child = children.start(place, [process.execPath, ...PROBE, ...script], env);
  const [probePort, port] = await Promise.all([saying(child, PROBE_PORT), saying(child, ready)]);
  return { port: Number(port), child, probePort: Number(probePort) };
}

/** What a program's probe has seen since it was last asked. */
export async function askProbe({ probePort }: { readonly probePort: number }): Promise<LoopDelay> {
  return (await (await fetch(`http://127.0.0.1:${probePort}`)).json()) as LoopDelay;
}

/** Starts the fake upstream and gives its port. */
export async function startUpstream(children: Children, paceMs: number): Promise<number> {
  const file = join(import.meta.dirname, '../traffic/fake-upstream.ts');
  const upstream = children.start('load', [process.execPath, file, String(paceMs)]);
  return Number(await saying(upstream, LISTENING));
}

const proxyFile = (name: string) => join(import.meta.dirname, '../relay', name);

/** Starts a proxy that looks at nothing. */
export const startProxy = (
  children: Children,
  name: 'pool-proxy.ts' | 'http-proxy.ts',
  upstreamPort: number,
): Promise<Program> => launch(children, [proxyFile(name), String(upstreamPort)], LISTENING);

/** *Bare* with a probe. */
export const startProbedProxy = (
  children: Children,
  upstreamPort: number,
): Promise<Probed<Program>> =>
  launchProbed(children, [proxyFile('pool-proxy.ts'), String(upstreamPort)], LISTENING);

const gatewayEnv = (dataDirectory: string, env: Readonly<Record<string, string>>) => ({
  SWITCHYARD_DATA_DIR: dataDirectory,
  SWITCHYARD_PORT: '0',
  SWITCHYARD_AGENT: 'false',
  ...env,
});

/** Starts the gateway of a checkout, in front of what `env` says; its files go to `dataDirectory`. */
export async function startGateway(
  children: Children,
  dataDirectory: string,
  env: Readonly<Record<string, string>>,
  checkout: string = ROOT,
): Promise<Gateway> {
  const script = [join(checkout, 'main/headless.ts')];
  const program = await launch(children, script, BASE_URL, gatewayEnv(dataDirectory, env));
  return { ...program, dataDirectory };
}

/** What `npm run build` makes and people install, as it starts. */
export const PACKAGE = join(ROOT, 'dist/node/switchyard.cjs');

/** The gateway as people install it. */
export async function startPackage(
  children: Children,
  dataDirectory: string,
  env: Readonly<Record<string, string>>,
): Promise<Gateway> {
  const program = await launch(children, [PACKAGE], BASE_URL, gatewayEnv(dataDirectory, env));
  return { ...program, dataDirectory };
}

/** This checkout's gateway with a probe. */
export async function startProbedGateway(
  children: Children,
  dataDirectory: string,
  env: Readonly<Record<string, string>>,
  place: Place = 'target',
): Promise<Probed<Gateway>> {
  const script = [join(ROOT, 'main/headless.ts')];
  const options = { env: gatewayEnv(dataDirectory, env), place };
  const program = await launchProbed(children, script, BASE_URL, options);
  return { ...program, dataDirectory };
}

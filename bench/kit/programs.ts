import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Agent, request } from 'undici';
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
  /** Where the probe of its event loop answers (loop-probe.ts); null if it has none. */
  readonly probePort: number | null;
}

/** A gateway process, with the directory where its control token is. */
export interface Gateway extends Program {
  readonly dataDirectory: string;
}

type Env = Readonly<Record<string, string>>;

const ROOT = join(import.meta.dirname, '../..');
/** The program from source, and what `npm run build` makes and people install. */
export const SOURCE = join(ROOT, 'main/headless.ts');
export const PACKAGE = join(ROOT, 'dist/node/inglenook.cjs');

const PROBE = ['--import', join(import.meta.dirname, 'loop-probe.ts')];
/** What our own programs and a gateway print once they listen. */
const LISTENING = /listening on (\d+)/;
const BASE_URL = /Base URL for your apps: http:\/\/\S+:(\d+)\//;

/** Starts a script whose port is the first group of `ready`. */
async function launch(
  children: Children,
  script: readonly string[],
  ready: RegExp,
  { env = {}, place = 'target', isProbed = false }: GatewayOptions & { readonly env?: Env } = {},
): Promise<Program> {
  const command = [process.execPath, ...(isProbed ? PROBE : []), ...script];
  const child = children.start(place, command, env);
  const [port, probePort] = await Promise.all([
    saying(child, ready),
    isProbed ? saying(child, /probe on (\d+)/) : null,
  ]);
  return { port: Number(port), child, probePort: probePort === null ? null : Number(probePort) };
}

/** A busy machine may take long for a connection, and nobody is heard of on an open feed for minutes. */
const PATIENT = new Agent({ connect: { timeout: 60_000 }, headersTimeout: 0, bodyTimeout: 0 });

/** GETs `path` of a program; rejects unless the answer is a 200. */
export async function getFrom(port: number | null, path: string) {
  const { statusCode, body } = await request(`http://127.0.0.1:${port}${path}`, {
    dispatcher: PATIENT,
  });
  if (statusCode !== 200) throw new Error(`GET ${path}: ${statusCode}`);
  return body;
}

/** What a program's probe has seen since it was last asked. */
export async function askProbe({ probePort }: Program): Promise<LoopDelay> {
  return (await (await getFrom(probePort, '/')).json()) as LoopDelay;
}

/** Starts the fake upstream and gives its port. */
export async function startUpstream(children: Children, paceMs: number): Promise<number> {
  const file = join(ROOT, 'bench/load/fake-upstream.ts');
  const upstream = children.start('load', [process.execPath, file, String(paceMs)]);
  return Number(await saying(upstream, LISTENING));
}

/** Starts *bare*, the proxy that looks at nothing. */
export const startBare = (
  children: Children,
  upstreamPort: number,
  isProbed = false,
): Promise<Program> =>
  launch(children, [join(ROOT, 'bench/relay/bare.ts'), String(upstreamPort)], LISTENING, {
    isProbed,
  });

/** Settings by which plain answers pass through from the upstream. */
export const passingFrom = (upstreamPort: number): Env => ({
  INGLENOOK_HOSTED_A_BASE_URL: `http://127.0.0.1:${upstreamPort}/v1`,
  INGLENOOK_HOSTED_A_ASSEMBLE: 'false',
});

interface GatewayOptions {
  readonly place?: Place;
  readonly isProbed?: boolean;
  /** This checkout's, from source, if there is none. */
  readonly script?: string;
}

/** Starts a gateway, in front of what `env` says; its files go to `dataDirectory`. */
export async function startGateway(
  children: Children,
  dataDirectory: string,
  env: Env,
  { script = SOURCE, ...options }: GatewayOptions = {},
): Promise<Gateway> {
  const own = {
    INGLENOOK_DATA_DIR: dataDirectory,
    INGLENOOK_PORT: '0',
    INGLENOOK_AGENT: 'false',
  };
  const program = await launch(children, [script], BASE_URL, {
    ...options,
    env: { ...own, ...env },
  });
  return { ...program, dataDirectory };
}

/** Reads the live feed as an open window does; `close` gives the number of its events, and throws if it ended. */
export async function openWindow({ port }: Gateway): Promise<{ readonly close: () => number }> {
  const body = await getFrom(port, '/api/v1/events');
  let events = 0;
  let end: string | null = null;
  body.setEncoding('utf8');
  body.on('data', (text: string) => (events += text.match(/^data:/gm)?.length ?? 0));
  body.on('error', (error) => (end ??= error.message));
  body.on('close', () => (end ??= 'it ended'));
  return {
    close() {
      if (end !== null || events === 0) throw new Error(`the live feed: ${end ?? 'no event'}`);
      end = 'closed here';
      body.destroy();
      return events;
    },
  };
}

/** Linux gives outgoing connections ports from 32768 on; one of those may be taken before it is listened on. */
const [LOWEST, HIGHEST] = [20_000, 32_000];

/** A port that was free a moment ago: for who cannot choose one and tell. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(LOWEST, HIGHEST);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

/** Resolves when something listens on `port`; rejects after 15 s. */
export async function untilListening(port: number): Promise<void> {
  for (let tries = 0; tries < 300; tries += 1) {
    const socket = connect({ host: '127.0.0.1', port });
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return;
    await pause(50);
  }
  throw new Error(`nothing listens on port ${port} after 15 s`);
}

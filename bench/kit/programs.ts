import { join } from 'node:path';
import { saying, type Child, type Children } from './children.ts';

/** What answers the load's requests. */
export interface Target {
  readonly port: number;
  /** Null for the upstream itself, asked directly. */
  readonly child: Child | null;
}

/** A target that is a process. */
export interface Program extends Target {
  readonly child: Child;
}

type Env = Readonly<Record<string, string>>;

const ROOT = join(import.meta.dirname, '../..');
/** The program as people run it, from the package and by `npm run start:headless`. */
const PROGRAM = join(ROOT, 'dist/node/inglenook.cjs');

/** What our own programs and a gateway print once they listen. */
const LISTENING = /listening on (\d+)/;
const BASE_URL = /Base URL for your apps: http:\/\/\S+:(\d+)\//;

/** Starts a script whose port is the first group of `ready`. */
async function launch(
  children: Children,
  script: readonly string[],
  ready: RegExp,
  env: Env = {},
): Promise<Program> {
  const child = children.start('target', [process.execPath, ...script], env);
  return { port: Number(await saying(child, ready)), child };
}

/** Starts the fake upstream and gives its port. */
export async function startUpstream(children: Children, paceMs: number): Promise<number> {
  const file = join(ROOT, 'bench/load/fake-upstream.ts');
  const upstream = children.start('load', [process.execPath, file, String(paceMs)]);
  return Number(await saying(upstream, LISTENING));
}

/** Starts *bare*, the proxy that looks at nothing. */
export const startBare = (children: Children, upstreamPort: number): Promise<Program> =>
  launch(children, [join(ROOT, 'bench/relay/bare.ts'), String(upstreamPort)], LISTENING);

/** Settings by which plain answers pass through from the upstream. */
export const passingFrom = (upstreamPort: number): Env => ({
  INGLENOOK_HOSTED_A_BASE_URL: `http://127.0.0.1:${upstreamPort}/v1`,
  INGLENOOK_HOSTED_A_ASSEMBLE: 'false',
});

/** Starts a gateway, in front of what `env` says; its files go to `dataDirectory`. */
export const startGateway = (
  children: Children,
  dataDirectory: string,
  env: Env,
): Promise<Program> => {
  const own = { INGLENOOK_DATA_DIR: dataDirectory, INGLENOOK_PORT: '0', INGLENOOK_AGENT: 'false' };
  return launch(children, [PROGRAM], BASE_URL, { ...own, ...env });
};

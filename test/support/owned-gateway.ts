import { writeFileSync } from 'node:fs';
import { createServer, type OutgoingHttpHeaders, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import type { CommandOutcome } from '../../main/cli/command.ts';
import { runLine } from '../../main/cli/cli.ts';
import { createProgram, FROM_USER } from '../../main/cli/program.ts';
import { controlProof } from '../../main/platform/secrets.ts';
import { claimDataDirectory } from '../../main/platform/data-lock.ts';
import { startGateway, type TestGateway } from './gateway.ts';
import { listening } from './listening.ts';
import { asVariables } from './config.ts';

/** Makes commands find `url` as the gateway of the directory, until the test ends. */
export function own(dataDirectory: string, url: string): void {
  const claim = claimDataDirectory(dataDirectory, Date.now());
  if (claim.kind === 'taken') throw new Error('the data directory has another owner');
  claim.lock.listensAt(url);
  onTestFinished(() => claim.lock.release());
}

/** Writes what a gateway leaves in its directory about itself: by default of this process, and without a version. */
export function writeOwner(
  dataDirectory: string,
  owner: { readonly url: string; readonly pid?: number; readonly version?: string },
): void {
  const whole = { pid: process.pid, startedAt: '2026-01-01T00:00:00.000Z', ...owner };
  writeFileSync(join(dataDirectory, 'running.json'), JSON.stringify(whole));
}

/**
 * Starts a gateway in this process that commands find, as `inglenook start` lets them: it costs a tenth of the
 * processor time of a program of its own.
 */
export async function startOwned(...args: Parameters<typeof startGateway>): Promise<TestGateway> {
  const gateway = await startGateway(...args);
  own(gateway.dataDirectory, gateway.url);
  return gateway;
}

/** What commands take for the gateway of the directory: it proves itself as one, and `listener` answers the rest. */
export async function startStandIn(
  dataDirectory: string,
  listener: RequestListener,
  headers: OutgoingHttpHeaders = {},
) {
  const controlToken = 'c'.repeat(64);
  writeFileSync(join(dataDirectory, 'control-token'), controlToken);
  const server = createServer((req, res) => {
    const { pathname, searchParams } = new URL(req.url ?? '', 'http://x');
    if (pathname !== '/api/v1/proof') {
      listener(req, res);
      return;
    }
    const nonce = searchParams.get('nonce') ?? '';
    const { localAddress: address, localPort: port } = req.socket;
    const proof = controlProof(controlToken, nonce, { address, port });
    res.writeHead(200, headers).end(JSON.stringify({ proof }));
  });
  const url = `http://127.0.0.1:${await listening(server)}`;
  own(dataDirectory, url);
  return { url, controlToken };
}

/** The outcome of a command line over the gateway of the directory, in this process. */
export async function runHere(dataDirectory: string, line: string): Promise<CommandOutcome> {
  const outcomes: CommandOutcome[] = [];
  const program = createProgram(async (run, given) => {
    outcomes.push(await run({ env: {}, dataDirectory, ...given }));
  });
  await program.parseAsync(line.split(' '), FROM_USER);
  const [outcome] = outcomes;
  if (outcome === undefined) throw new Error(`no command ${line}`);
  return outcome;
}

/** What a program has printed, and its exit code. */
interface ProgramOutput {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * As `runCli`, in this process and one at a time: for what commands say and do, which costs a tenth of the processor
 * time of programs of their own. Whatever else the process prints meanwhile counts as theirs.
 */
export async function sayHere(
  settings: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<ProgramOutput> {
  const said = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((piece) => {
      said[name] += String(piece);
      return true;
    }),
  );
  const { FORCE_COLOR, PATH } = process.env;
  // Of the run of the tests.
  delete process.env['FORCE_COLOR'];
  try {
    const code = await runLine(args, { PATH, ...asVariables(settings) });
    return { code, ...said };
  } finally {
    for (const spy of spies) spy.mockRestore();
    if (FORCE_COLOR !== undefined) process.env['FORCE_COLOR'] = FORCE_COLOR;
  }
}

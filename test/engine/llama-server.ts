import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { TestGateway } from '../support/gateway.ts';
import { MODEL } from '../support/tier.ts';
import { llamaServer } from './find-server.ts';
import { writeModel, type ModelText } from './model.ts';

/** A real llama-server. */
export interface Llama {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void;
  /** Resolves once it has ended. */
  readonly ended: Promise<void>;
}

interface LlamaGiven {
  readonly alias?: string;
  readonly port?: number;
  readonly apiKey?: string;
  /** In tokens. */
  readonly context?: number;
}

/** Starts one that serves a model with that text, and waits until it has loaded it; it ends with the test. */
export async function startLlama(
  text: ModelText,
  { alias = MODEL, port: wanted = 0, apiKey, context = 4096 }: LlamaGiven = {},
): Promise<Llama> {
  const directory = mkdtempSync(join(tmpdir(), 'inglenook-engine-'));
  const model = join(directory, 'model.gguf');
  await writeModel(model, text);
  const key = apiKey === undefined ? [] : ['--api-key', apiKey];
  const settings = ['-m', model, '--alias', alias, '-c', String(context), ...key];
  return startServer(settings, { directory, port: wanted, ready: /model loaded/ });
}

/** One that loads the model that it is asked for, of several. */
export async function startLlamaRouter(texts: Readonly<Record<string, ModelText>>): Promise<Llama> {
  const directory = mkdtempSync(join(tmpdir(), 'inglenook-engine-'));
  for (const [name, text] of Object.entries(texts))
    await writeModel(join(directory, `${name}.gguf`), text);
  const started = { directory, port: 0, ready: /router mode/ };
  return startServer(['--models-dir', directory, '-c', '4096'], started);
}

interface Starting {
  /** Goes with the test. */
  readonly directory: string;
  readonly port: number;
  /** What it prints when it can be asked. */
  readonly ready: RegExp;
}

function startServer(
  settings: readonly string[],
  { directory, port: wanted, ready }: Starting,
): Promise<Llama> {
  const size = ['-t', '1', '-np', '2', '--jinja'];
  const at = ['--host', '127.0.0.1', '--port', String(wanted)];
  const child = spawn(llamaServer() ?? '', [...settings, ...size, ...at], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(directory, { recursive: true, force: true });
  });
  return new Promise((resolve, reject) => {
    let log = '';
    const read = (part: Buffer) => {
      log += part.toString();
      const port = /listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(log)?.[1];
      if (port === undefined || !ready.test(log)) return;
      const url = `http://127.0.0.1:${port}`;
      const { pid = 0 } = child;
      resolve({ url, port: Number(port), pid, signal: (signal) => void child.kill(signal), ended });
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('error', reject);
    void ended.then(() => reject(new Error(`llama-server ended:\n${log.slice(-2000)}`)));
  });
}

/** A wire to `url` that is cut once so many pieces of text have gone over it; one connection after the other. */
export async function startCuttingWire(
  url: string,
): Promise<{ readonly url: string; after: number }> {
  const wire = { url: '', after: Infinity };
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer((caller) => {
    const engine = connect(Number(target.port), target.hostname);
    const end = () => {
      caller.destroy();
      engine.destroy();
    };
    for (const socket of [caller, engine]) {
      sockets.add(socket);
      socket.on('error', end).on('close', end);
    }
    caller.pipe(engine);
    let texts = 0;
    engine.on('data', (bytes: Buffer) => {
      for (const piece of bytes.toString().split(/(?<=\n\n)/)) {
        if (texts >= wire.after) break;
        caller.write(piece);
        if (/"(content|reasoning_content|text|thinking|arguments|partial_json)":"[^"]/.test(piece))
          texts += 1;
      }
      if (texts >= wire.after) caller.end(() => end());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return Object.assign(wire, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

/** Resolves when a gateway before engines knows whose models they have. */
export async function modelsRead({ url, host }: TestGateway): Promise<void> {
  host.askForModels();
  let list = '';
  while (!list.includes('llamacpp')) list = await (await fetch(`${url}/v1/models`)).text();
}

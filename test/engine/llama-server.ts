import { spawn } from 'node:child_process';
import { createServer, connect } from 'node:net';
import { join } from 'node:path';
import { onTestFinished, type TestContext } from 'vitest';
import { temporaryDirectory, type TestGateway } from '../support/gateway.ts';
import { listening } from '../support/listening.ts';
import { MODEL, storedMachine } from '../support/tier.ts';
import { llamaServer } from './find-server.ts';
import { writeModel, type ModelText } from './model.ts';

/** What a model says where it does not matter. */
export const KALOMI: ModelText = { cycle: [' ka', ' lo', ' mi'] };

/** A real llama-server. */
export interface Llama {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void;
  /** Resolves once it has ended. */
  kill(): Promise<void>;
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
  const model = join(temporaryDirectory(), 'model.gguf');
  await writeModel(model, text);
  const key = apiKey === undefined ? [] : ['--api-key', apiKey];
  const settings = ['-m', model, '--alias', alias, '-c', String(context), ...key];
  return startServer(settings, wanted, /model loaded/);
}

/** One that loads the model that it is asked for, of several. */
export async function startLlamaRouter(texts: Readonly<Record<string, ModelText>>): Promise<Llama> {
  const directory = temporaryDirectory();
  for (const [name, text] of Object.entries(texts))
    await writeModel(join(directory, `${name}.gguf`), text);
  return startServer(['--models-dir', directory, '-c', '4096'], 0, /router mode/);
}

/** Skips the test if a router has answered that it cannot start its children, as one run through another loader. */
export function skipUnlessLoaded(context: TestContext, { text }: { readonly text: string }): void {
  if (text.includes('failed to load')) context.skip('this llama-server cannot start its children');
}

/** Machines of the local pool with a llama.cpp at each address. */
export const machinesAt = (urls: readonly string[]) =>
  urls.map((url, n) => {
    const id = `prv_${(n + 1).toString(16).padStart(32, '0')}`;
    return { stored: storedMachine(id, url, { verification: { ownedBy: 'llamacpp' } }) };
  });

/** `ready` is what it prints when it can be asked. */
function startServer(settings: readonly string[], wanted: number, ready: RegExp): Promise<Llama> {
  const size = ['-t', '1', '-np', '2', '--jinja'];
  const at = ['--host', '127.0.0.1', '--port', String(wanted)];
  const child = spawn(llamaServer() ?? '', [...settings, ...size, ...at], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const kill = () => {
    child.kill('SIGKILL');
    return ended;
  };
  onTestFinished(kill);
  return new Promise((resolve, reject) => {
    let log = '';
    const read = (part: Buffer) => {
      log += part.toString();
      const port = /listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(log)?.[1];
      if (port === undefined || !ready.test(log)) return;
      const url = `http://127.0.0.1:${port}`;
      const { pid = 0 } = child;
      resolve({ url, port: Number(port), pid, signal: (signal) => void child.kill(signal), kill });
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
  const server = createServer((caller) => {
    const engine = connect(Number(target.port), target.hostname);
    const end = () => {
      caller.destroy();
      engine.destroy();
    };
    for (const socket of [caller, engine]) socket.on('error', end).on('close', end);
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
  return Object.assign(wire, { url: `http://127.0.0.1:${await listening(server)}` });
}

/** Resolves when a gateway before engines knows whose models they have. */
export async function modelsRead({ url, host }: TestGateway): Promise<void> {
  host.askForModels();
  let list = '';
  while (!list.includes('llamacpp')) list = await (await fetch(`${url}/v1/models`)).text();
}

import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { withTimeout } from '../../platform/async.ts';
import type { Clock } from '../../platform/clock.ts';
import { listOf, memberOf, numberOf, textOf } from '../../platform/json.ts';
import { type GpuDevice, type GpuVendor, type Problem, UNREAD } from './gpu-device.ts';
import { toolEnvironment, type ToolWorld } from './tool-process.ts';

/** Facts that do not change while the machine runs, as far as systeminformation reports them. */
export interface MachineFacts {
  readonly machineModel: string | null;
  /** Null where systeminformation does not report it. */
  readonly performanceCores: number | null;
  readonly efficiencyCores: number | null;
  /** Cards of vendors whose tools are missing: what they are, without readings. */
  readonly cards: readonly GpuDevice[];
}

export type FactsResult =
  | { readonly kind: 'facts'; readonly facts: MachineFacts }
  | { readonly kind: 'failed'; readonly problem: Problem };

/** A request that is under way. */
export interface FactsAsker {
  readonly answer: Promise<unknown>;
  stop(): void;
}

/** Starts a request; `graphics` includes the graphics cards. */
export type AskFacts = (what: 'machine' | 'graphics') => FactsAsker;

/** On Windows it runs several programs. */
const TIMEOUT_MS = 20_000;

/** Runs in a worker thread; `script` is its module. */
export function createAskFacts(world: ToolWorld, script: URL = workerBesideThis()): AskFacts {
  return (what) => {
    const worker = new Worker(script, {
      workerData: what,
      env: toolEnvironment(world.env),
      stdout: true,
      stderr: true,
    });
    // A thread that hangs in a driver must not keep the program from ending.
    worker.unref();
    return {
      answer: new Promise((resolve) => {
        worker.once('message', resolve);
        worker.once('error', (error: Error) => resolve(error));
        worker.once('exit', () => resolve(null));
      }),
      stop: () => void worker.terminate(),
    };
  };
}

/** Waits for the answer for up to 20 s, or until `signal` aborts. */
export async function readFacts(
  asker: FactsAsker,
  clock: Clock,
  signal: AbortSignal,
): Promise<FactsResult> {
  const result = await withTimeout(asker.answer, { clock, ms: TIMEOUT_MS, signal });
  asker.stop();
  switch (result.kind) {
    case 'settled':
      return judged(result.value);
    case 'timed_out':
      return failed(`it has hung: no answer in ${TIMEOUT_MS / 1000} s`);
    case 'aborted':
      return failed('it was stopped');
  }
}

function judged(answer: unknown): FactsResult {
  if (answer instanceof Error) return failed(answer.message.slice(0, 200));
  if (answer === null) return failed('it ended without an answer');
  return { kind: 'facts', facts: factsOf(answer) };
}

function failed(happened: string): FactsResult {
  const problem = {
    tool: 'systeminformation',
    tried: 'asking for the model of the machine and its processor',
    happened,
    remedy: 'Nothing: only the model of the machine stays unknown.',
  };
  return { kind: 'failed', problem };
}

function factsOf(answer: unknown): MachineFacts {
  return {
    machineModel: machineModel(memberOf(answer, 'manufacturer'), memberOf(answer, 'model')),
    performanceCores: numberOf(memberOf(answer, 'performanceCores')),
    efficiencyCores: numberOf(memberOf(answer, 'efficiencyCores')),
    cards: listOf(memberOf(answer, 'controllers')).flatMap(cardOf),
  };
}

/** What board makers and containers report in place of a model. */
const PLACEHOLDER =
  /^(to be filled|default string|system (product name|manufacturer|version)|not (specified|applicable|available)|none|unknown|o\.?e\.?m\.?|docker container|0+|-+|\.+)\b/i;

/** Maker and model in one line; null where the board does not report them. */
export function machineModel(manufacturer: unknown, model: unknown): string | null {
  const known = [manufacturer, model]
    .map((value) => textOf(value))
    .map((text) => (text === null || PLACEHOLDER.test(text) ? null : text));
  const [maker = null, name = null] = known;
  if (name === null) return null;
  return maker === null || name.startsWith(maker) ? name : `${maker} ${name}`;
}

/** Smaller cards, and those that borrow the machine's memory, only drive a screen. */
const MIN_CARD_MB = 2048;

function cardOf(controller: unknown, position: number): readonly GpuDevice[] {
  const words = `${String(memberOf(controller, 'vendor'))} ${String(memberOf(controller, 'model'))}`;
  const vendor = vendorOf(words);
  const memoryTotalMb = numberOf(memberOf(controller, 'vram'));
  if (vendor === null || memoryTotalMb === null || memoryTotalMb < MIN_CARD_MB) return [];
  if (memberOf(controller, 'vramDynamic') === true) return [];
  const key = textOf(memberOf(controller, 'busAddress')) ?? `${vendor}-${position}`;
  const name = textOf(memberOf(controller, 'model'));
  return [{ ...UNREAD, key, vendor, name, memoryTotalMb }];
}

function vendorOf(words: string): GpuVendor | null {
  if (/nvidia/i.test(words)) return 'nvidia';
  if (/\bAMD\b|Advanced Micro|\bATI\b|Radeon/i.test(words)) return 'amd';
  return /Intel.*\bArc\b/i.test(words) ? 'intel' : null;
}

/** Beside this file with the same extension, in a bundle too. */
function workerBesideThis(): URL {
  return new URL(`./machine-facts-worker${extname(import.meta.filename)}`, import.meta.url);
}

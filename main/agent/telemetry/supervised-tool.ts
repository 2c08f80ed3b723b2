import { StringDecoder } from 'node:string_decoder';
import type { Clock } from '../../platform/clock.ts';
import type { Problem } from './gpu-device.ts';
import {
  excerpt,
  exitWords,
  killed,
  type RunningTool,
  type ToolEdges,
  type ToolEnd,
} from './tool-process.ts';

/** A tool that never ends by itself and prints a round of lines every `intervalMs`. */
export interface LongTool {
  readonly tool: string;
  /** Where it may be installed, the likeliest place first. */
  readonly commands: readonly string[];
  /** Arguments; later ones ask for less, for older tools that refuse the first. */
  readonly queries: readonly (readonly string[])[];
  readonly intervalMs: number;
  /** Whether its error message says that it does not know what was asked for. */
  readonly isTooNew: (message: string) => boolean;
  readonly remedyFor: (message: string) => string;
}

interface LongToolListener {
  /** Returns whether the line was a reading. */
  onLine(line: string): boolean;
  /** The tool is not installed, or ended by itself without a single reading. */
  onBarren(): void;
}

/** A driver without persistence mode is loaded for each first call: 25 to 40 s were seen on big machines. */
const FIRST_LINE_MS = 45_000;
const RETRY_MIN_MS = 5000;
const RETRY_MAX_MS = 300_000;
/** After a run of this length the back-off starts over. */
const STEADY_MS = 60_000;
/** 64 cards print 13 kB a round. */
const MAX_BYTES_PER_ROUND = 256 * 1024;

/** What is known of the tool from its last run. */
export type ToolHealth =
  /** It gives readings, or has not run long enough to tell. */
  | { readonly kind: 'well' }
  /** It is not installed in any of the places. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'failing'; readonly problem: Problem };

/** One run of the tool, from its start until it ends or is given up. */
interface Run {
  readonly startedTicks: number;
  hasReading: boolean;
  /** The last line that was not a reading: most tools print their errors to standard output. */
  message: string;
  cancelWatchdog: () => void;
}

type Phase =
  | { readonly kind: 'stopped' }
  | { readonly kind: 'running'; readonly run: Run }
  | { readonly kind: 'waiting'; readonly cancelRetry: () => void };

const WELL: ToolHealth = { kind: 'well' };

/** Keeps a tool running: restarts it with a back-off, kills it when it falls silent. */
export class SupervisedTool {
  readonly #tool: LongTool;
  readonly #listener: LongToolListener;
  readonly #edges: ToolEdges;
  #phase: Phase = { kind: 'stopped' };
  #health: ToolHealth = WELL;
  /** The process that was started last, until it ends: one that is stuck in the driver survives its run. */
  #process: RunningTool | null = null;
  /** Indexes of the command and the query that are tried now. */
  #variant = { command: 0, query: 0 };
  /** In a row. */
  #failures = 0;

  constructor(tool: LongTool, listener: LongToolListener, edges: ToolEdges) {
    this.#tool = tool;
    this.#listener = listener;
    this.#edges = edges;
  }

  get health(): ToolHealth {
    return this.#health;
  }

  start(): void {
    if (this.#phase.kind === 'stopped') this.#launch();
  }

  async stop(): Promise<void> {
    this.#leavePhase();
    this.#phase = { kind: 'stopped' };
    if (this.#process !== null) await killed(this.#process, this.#edges.clock);
  }

  #launch(): void {
    // A second process would only get stuck beside the first.
    if (this.#process !== null) {
      this.#fail('it has hung and does not even end when killed: it is stuck in the driver');
      return;
    }
    const { clock, startTool } = this.#edges;
    const run: Run = {
      startedTicks: clock.ticks(),
      hasReading: false,
      message: '',
      cancelWatchdog() {},
    };
    this.#phase = { kind: 'running', run };
    this.#watch(run, FIRST_LINE_MS);
    const readLines = createLineReader((line) => this.#onLine(run, line));
    const isFlood = createFloodGuard(clock, this.#tool.intervalMs);
    const started = startTool(this.#commandName(), this.#args(), (chunk) => {
      if (isFlood(chunk.length)) this.#giveUp('it prints far more than was asked for');
      else readLines(chunk);
    });
    this.#process = started;
    void started.ended.then((end) => this.#onEnd(run, end));
  }

  #onLine(run: Run, line: string): void {
    if (!this.#listener.onLine(line)) {
      run.message = line;
      return;
    }
    run.hasReading = true;
    this.#health = WELL;
    if (this.#edges.clock.ticks() - run.startedTicks >= STEADY_MS) this.#failures = 0;
    this.#watch(run, 3 * this.#tool.intervalMs);
  }

  #watch(run: Run, ms: number): void {
    run.cancelWatchdog();
    run.cancelWatchdog = this.#edges.clock.after(ms, () => {
      const printed = run.message === '' ? '' : `; it printed: ${excerpt(run.message)}`;
      this.#giveUp(`it has hung: no reading in ${ms / 1000} s${printed}`);
    });
  }

  #giveUp(happened: string): void {
    this.#process?.kill();
    this.#fail(happened);
  }

  #fail(happened: string): void {
    this.#failures += 1;
    const problem = {
      tool: this.#tool.tool,
      tried: [this.#commandName(), ...this.#args()].join(' '),
      happened,
      remedy: this.#tool.remedyFor(happened),
    };
    this.#health = { kind: 'failing', problem };
    this.#retryAfter(Math.min(RETRY_MIN_MS * 2 ** (this.#failures - 1), RETRY_MAX_MS));
  }

  #onEnd(run: Run, end: ToolEnd): void {
    this.#process = null;
    // The end of a run that was stopped or given up is dealt with already.
    if (this.#phase.kind !== 'running' || this.#phase.run !== run) return;
    run.cancelWatchdog();
    if (end.kind === 'missing') this.#tryNextCommand();
    else if (end.kind === 'unstartable') this.#fail(`it cannot be started: ${end.detail}`);
    else this.#onExit(run, end);
  }

  #onExit(run: Run, { code, stderr }: Extract<ToolEnd, { kind: 'exited' }>): void {
    const message = stderr.trim() || run.message;
    const { command, query } = this.#variant;
    if (this.#tool.isTooNew(message) && query + 1 < this.#tool.queries.length) {
      this.#variant = { command, query: query + 1 };
      this.#launch();
      return;
    }
    if (!run.hasReading) this.#listener.onBarren();
    this.#fail(exitWords(code, message));
  }

  #tryNextCommand(): void {
    const { command, query } = this.#variant;
    if (command + 1 < this.#tool.commands.length) {
      this.#variant = { command: command + 1, query };
      this.#launch();
      return;
    }
    this.#variant = { command: 0, query };
    this.#health = { kind: 'absent' };
    this.#listener.onBarren();
    this.#retryAfter(RETRY_MAX_MS);
  }

  #retryAfter(ms: number): void {
    this.#leavePhase();
    const cancelRetry = this.#edges.clock.after(ms, () => this.#launch());
    this.#phase = { kind: 'waiting', cancelRetry };
  }

  #leavePhase(): void {
    if (this.#phase.kind === 'running') this.#phase.run.cancelWatchdog();
    if (this.#phase.kind === 'waiting') this.#phase.cancelRetry();
  }

  #commandName(): string {
    return this.#tool.commands[this.#variant.command] ?? this.#tool.tool;
  }

  #args(): readonly string[] {
    return this.#tool.queries[this.#variant.query] ?? [];
  }
}

/** Tells with each chunk whether a round has grown beyond what any number of cards prints. */
function createFloodGuard(clock: Clock, intervalMs: number): (bytes: number) => boolean {
  let startedTicks = clock.ticks();
  let roundBytes = 0;
  return (bytes) => {
    const ticks = clock.ticks();
    if (ticks - startedTicks >= intervalMs) {
      startedTicks = ticks;
      roundBytes = 0;
    }
    roundBytes += bytes;
    return roundBytes > MAX_BYTES_PER_ROUND;
  };
}

/** No reading is longer; the rest of a longer line is dropped as it comes. */
const MAX_LINE_CHARS = 4096;

/** Splits output into lines; holds no more than one of them. */
export function createLineReader(onLine: (line: string) => void): (chunk: Buffer) => void {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  let isTooLong = false;
  return (chunk) => {
    const parts = decoder.write(chunk).split('\n');
    const last = parts.pop() ?? '';
    for (const part of parts) {
      const line = rest + part;
      if (!isTooLong && line.length <= MAX_LINE_CHARS && line.trim() !== '') onLine(line.trim());
      rest = '';
      isTooLong = false;
    }
    if (isTooLong || rest.length + last.length > MAX_LINE_CHARS) {
      rest = '';
      isTooLong = true;
    } else {
      rest += last;
    }
  };
}

import { StringDecoder } from 'node:string_decoder';
import type { Problem } from './gpu-device.ts';
import {
  excerpt,
  exitWords,
  killed,
  type RunningTool,
  type ToolEdges,
  type ToolEnd,
} from './tool-process.ts';

/** A tool that runs for ever and prints a round of lines every `intervalMs`. */
export interface LongTool {
  readonly tool: string;
  /** Where it may be, the likeliest place first. */
  readonly commands: readonly string[];
  /** Arguments; later ones ask for less, for older tools that refuse the first. */
  readonly queries: readonly (readonly string[])[];
  readonly intervalMs: number;
  /** Whether its last words say that it does not know what was asked. */
  readonly isTooNew: (said: string) => boolean;
  /** What a person can do about its last words. */
  readonly remedyFor: (said: string) => string;
}

/** Who hears what it prints. */
interface LongToolListener {
  /** Tells whether the line was a reading. */
  onLine(line: string): boolean;
  /** It ended by itself and had given no reading. */
  onBarren(): void;
}

/** A driver without persistence mode is loaded for each first call: 25 to 40 s were seen on big machines. */
const FIRST_LINE_MS = 45_000;
const RETRY_MIN_MS = 5000;
const RETRY_MAX_MS = 300_000;
/** A run as long as this makes good for those before it. */
const STEADY_MS = 60_000;
/** 64 cards print 13 kB a round. */
const MAX_BYTES_PER_ROUND = 256 * 1024;

/** Keeps a tool running: restarts it with a back-off, kills it when it falls silent. */
export class SupervisedTool {
  /** Null while all is well. */
  problem: Problem | null = null;
  /** It is nowhere on this machine. */
  isAbsent = false;
  readonly #tool: LongTool;
  readonly #listener: LongToolListener;
  readonly #edges: ToolEdges;
  #running: RunningTool | null = null;
  #isStopped = true;
  #command = 0;
  #query = 0;
  #failures = 0;
  #startedAt = 0;
  #readings = 0;
  #wasGivenUp = false;
  #said = '';
  #roundAt = 0;
  #roundBytes = 0;
  #cancelWatch = () => {};
  #cancelRetry = () => {};

  constructor(tool: LongTool, listener: LongToolListener, edges: ToolEdges) {
    this.#tool = tool;
    this.#listener = listener;
    this.#edges = edges;
  }

  start(): void {
    if (!this.#isStopped) return;
    this.#isStopped = false;
    this.#launch();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelWatch();
    this.#cancelRetry();
    if (this.#running !== null) await killed(this.#running, this.#edges.clock);
  }

  #launch(): void {
    const { clock, startTool } = this.#edges;
    // The one before was killed and is stuck in the driver: another would only get stuck beside it.
    if (this.#running !== null) {
      this.#fail('it has hung and does not even end when killed: it is stuck in the driver');
      return;
    }
    this.#wasGivenUp = false;
    this.#startedAt = clock.ticks();
    this.#roundAt = this.#startedAt;
    this.#roundBytes = 0;
    this.#readings = 0;
    this.#said = '';
    const feed = createLineReader((line) => this.#hear(line));
    const running = startTool(this.#commandName(), this.#args(), (chunk) => {
      if (this.#isFlood(chunk.length)) this.#giveUp('it prints far more than was asked for');
      else feed(chunk);
    });
    this.#running = running;
    this.#watch(FIRST_LINE_MS);
    void running.ended.then((end) => this.#over(end));
  }

  #hear(line: string): void {
    if (!this.#listener.onLine(line)) {
      this.#said = line;
      return;
    }
    this.#readings += 1;
    this.problem = null;
    this.isAbsent = false;
    if (this.#edges.clock.ticks() - this.#startedAt >= STEADY_MS) this.#failures = 0;
    this.#watch(3 * this.#tool.intervalMs);
  }

  #watch(ms: number): void {
    this.#cancelWatch();
    this.#cancelWatch = this.#edges.clock.after(ms, () => {
      const words = this.#said === '' ? '' : `; it printed: ${excerpt(this.#said)}`;
      this.#giveUp(`it has hung: no reading in ${ms / 1000} s${words}`);
    });
  }

  #isFlood(bytes: number): boolean {
    const now = this.#edges.clock.ticks();
    if (now - this.#roundAt >= this.#tool.intervalMs) {
      this.#roundAt = now;
      this.#roundBytes = 0;
    }
    this.#roundBytes += bytes;
    return this.#roundBytes > MAX_BYTES_PER_ROUND;
  }

  #giveUp(happened: string): void {
    this.#wasGivenUp = true;
    this.#running?.kill();
    this.#fail(happened);
  }

  #fail(happened: string): void {
    this.#cancelWatch();
    this.#failures += 1;
    this.problem = {
      tool: this.#tool.tool,
      tried: [this.#commandName(), ...this.#args()].join(' '),
      happened,
      remedy: this.#tool.remedyFor(happened),
    };
    this.#retryLater();
  }

  #over(end: ToolEnd): void {
    this.#running = null;
    if (this.#isStopped || this.#wasGivenUp) return;
    this.#cancelWatch();
    if (end.kind === 'missing') this.#tryNextPlace();
    else if (end.kind === 'unstartable') this.#fail(`it cannot be started: ${end.detail}`);
    else this.#exited(end);
  }

  #exited({ code, stderr }: Extract<ToolEnd, { kind: 'exited' }>): void {
    const said = stderr.trim() || this.#said;
    if (this.#tool.isTooNew(said) && this.#query + 1 < this.#tool.queries.length) {
      this.#query += 1;
      this.#launch();
      return;
    }
    if (this.#readings === 0) this.#listener.onBarren();
    this.#fail(exitWords(code, said));
  }

  #tryNextPlace(): void {
    this.#command += 1;
    if (this.#command < this.#tool.commands.length) {
      this.#launch();
      return;
    }
    this.#command = 0;
    this.isAbsent = true;
    this.problem = null;
    this.#listener.onBarren();
    this.#retryAfter(RETRY_MAX_MS);
  }

  #retryLater(): void {
    this.#retryAfter(Math.min(RETRY_MIN_MS * 2 ** (this.#failures - 1), RETRY_MAX_MS));
  }

  #retryAfter(ms: number): void {
    this.#cancelRetry();
    this.#cancelRetry = this.#edges.clock.after(ms, () => this.#launch());
  }

  #commandName(): string {
    return this.#tool.commands[this.#command] ?? this.#tool.tool;
  }

  #args(): readonly string[] {
    return this.#tool.queries[this.#query] ?? [];
  }
}

/** Longer lines are nobody's reading; what is longer is dropped as it comes. */
const MAX_LINE_CHARS = 4096;

/** Cuts output into lines; keeps no more than one of them. */
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

import { ByteBuffer } from '../../platform/byte-buffer.ts';
import type { Clock } from '../../platform/clock.ts';
import type { RunningTool, StartTool, ToolEnd } from './child.ts';

/** One call of a tool that is expected to end by itself. */
export interface ToolCall {
  readonly command: string;
  readonly args: readonly string[];
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

/** What came of it. */
export type ToolResult =
  | { readonly kind: 'output'; readonly text: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'failed'; readonly detail: string }
  /** Killed, which may not end it; `gone` resolves once it did. */
  | { readonly kind: 'hung'; readonly gone: Promise<unknown> }
  | { readonly kind: 'stopped' };

/** What running tools takes. */
export interface ToolEdges {
  readonly startTool: StartTool;
  readonly clock: Clock;
}

/** How long a killed tool is waited for. */
const KILL_WAIT_MS = 1000;

/** Runs a tool to its end, within its time and size, or until `signal` aborts. */
export function runTool(
  { command, args, timeoutMs, maxBytes }: ToolCall,
  { startTool, clock }: ToolEdges,
  signal: AbortSignal,
): Promise<ToolResult> {
  if (signal.aborted) return Promise.resolve({ kind: 'stopped' });
  return new Promise((resolve) => {
    const output = new ByteBuffer();
    const settle = (result: ToolResult) => {
      cancelTimer();
      signal.removeEventListener('abort', onAbort);
      resolve(result);
    };
    const tool = startTool(command, args, (chunk) => {
      output.add(chunk);
      if (output.length <= maxBytes) return;
      tool.kill();
      settle({ kind: 'failed', detail: `it printed over ${maxBytes} bytes` });
    });
    const onAbort = () => void killed(tool, clock).then(() => settle({ kind: 'stopped' }));
    const cancelTimer = clock.after(timeoutMs, () => {
      tool.kill();
      settle({ kind: 'hung', gone: tool.ended });
    });
    signal.addEventListener('abort', onAbort);
    void tool.ended.then((end) => settle(resultOf(end, output)));
  });
}

/** Kills a tool and waits a short while for its end. */
export async function killed(tool: RunningTool, clock: Clock): Promise<void> {
  tool.kill();
  await new Promise<void>((resolve) => {
    const cancel = clock.after(KILL_WAIT_MS, resolve);
    const settle = () => {
      cancel();
      resolve();
    };
    void tool.ended.then(settle);
  });
}

function resultOf(end: ToolEnd, output: ByteBuffer): ToolResult {
  if (end.kind === 'missing') return end;
  if (end.kind === 'unstartable')
    return { kind: 'failed', detail: `it cannot be started: ${end.detail}` };
  const text = output.take().toString('utf8');
  if (end.code === 0) return { kind: 'output', text };
  return { kind: 'failed', detail: exitWords(end.code, end.stderr.trim() || text) };
}

/** How a tool ended, with its last words. */
export function exitWords(code: number | null, said: string): string {
  const how = code === null ? 'it was ended by a signal' : `it ended with code ${code}`;
  const words = excerpt(said);
  return words === '' ? how : `${how}: ${words}`;
}

const MAX_EXCERPT_CHARS = 200;

/** A short piece of a tool's output that is fit for people: one line, no control characters. */
export function excerpt(text: string): string {
  // Tools may print anything, terminal commands included.
  const plain = text
    .slice(0, 4 * MAX_EXCERPT_CHARS)
    .replaceAll(/[^\p{L}\p{N}\p{P}\p{S}]+/gu, ' ')
    .trim();
  return plain.length > MAX_EXCERPT_CHARS ? `${plain.slice(0, MAX_EXCERPT_CHARS)}…` : plain;
}

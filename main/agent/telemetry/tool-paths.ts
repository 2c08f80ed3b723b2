import type { FailedPoll } from './poll.ts';
import { excerpt } from '../excerpt.ts';
import { runTool, type ToolEdges, type ToolResult } from './tool-process.ts';

/** rocm-smi and amd-smi are Python programs that take seconds on a busy machine. */
const TIMEOUT_MS = 10_000;
const MAX_BYTES = 1024 * 1024;

/** Runs a tool from the first path where it is installed. */
export async function runFirst(
  commands: readonly string[],
  args: readonly string[],
  { timeoutMs = TIMEOUT_MS, ...edges }: ToolEdges & { readonly timeoutMs?: number },
  signal: AbortSignal,
): Promise<ToolResult> {
  for (const command of commands) {
    const call = { command, args, timeoutMs, maxBytes: MAX_BYTES };
    const result = await runTool(call, edges, signal);
    if (result.kind !== 'missing') return result;
  }
  return { kind: 'missing' };
}

/** A failed round for a call without a reading. */
export function toolProblem(
  call: readonly string[],
  result: ToolResult,
  remedy: string | ((happened: string) => string),
): FailedPoll {
  const happened = wordsOf(result);
  return {
    kind: 'failed',
    problem: {
      tool: call[0] ?? '',
      tried: call.join(' '),
      happened,
      remedy: typeof remedy === 'string' ? remedy : remedy(happened),
    },
    gone: result.kind === 'hung' ? result.gone : null,
  };
}

function wordsOf(result: ToolResult): string {
  switch (result.kind) {
    case 'output':
      return `it printed unexpected output: ${excerpt(result.text) || 'nothing'}`;
    case 'missing':
      return 'it is not installed';
    case 'failed':
      return result.detail;
    case 'hung':
      return `it has hung: no answer in ${result.afterMs / 1000} s`;
    case 'stopped':
      return 'it was stopped';
  }
}

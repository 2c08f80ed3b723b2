import type { AgentListener, AgentMembership, AgentProblem, AgentView } from '#shared/agent.ts';
import { ENGINE_NAMES } from '#shared/engines.ts';
import type { EngineView } from '../engines/adapters/engine-view.ts';
import { largerWindowOf } from '../engines/detect.ts';
import { isForChat } from '../engines/models.ts';
import { isLoopbackHost } from '../platform/http/addresses.ts';
import type { FileWarning } from './storage.ts';

/** A smaller difference between the clocks is not reported. */
const MAX_CLOCK_OFFSET_MS = 60_000;

/** All problems except those of engines, and of drivers and their tools. */
export function problemsOf(
  { host, ports }: Pick<AgentView['server'], 'host' | 'ports'>,
  registry: AgentMembership,
  warnings: readonly FileWarning[],
): readonly AgentProblem[] {
  const problems: AgentProblem[] = warnings.map((warning) => ({
    tool: 'saved files',
    tried: 'reading them',
    ...warning,
  }));
  problems.push(...portProblems(ports, host));
  if (registry.kind === 'joined' && isLoopbackHost(host) && !isHere(registry.url)) {
    problems.push({
      tool: 'agent',
      tried: `listening on ${host}`,
      happened: `the gateway at ${registry.url ?? ''} cannot reach this machine's agent`,
      remedy:
        "Set agent.host (INGLENOOK_AGENT_HOST) to this machine's address in that network, or to 0.0.0.0, and start again.",
    });
  }
  if (registry.problem !== null) {
    const { happened, remedy } = registry.problem;
    problems.push({
      tool: 'registry',
      tried: registry.url ?? 'the gateway of this machine',
      happened,
      remedy: remedy ?? 'Nothing to do: it is retried.',
    });
  }
  const offsetS = Math.round(registry.clockOffsetMs / 1000);
  if (Math.abs(registry.clockOffsetMs) > MAX_CLOCK_OFFSET_MS) {
    problems.push({
      tool: 'clock',
      tried: "comparing it with the gateway's",
      happened: `this machine's clock is ${Math.abs(offsetS)} s ${offsetS > 0 ? 'behind' : 'ahead'}`,
      remedy: 'Turn on its time synchronization; until then heartbeats are corrected.',
    });
  }
  return problems;
}

function portProblems(ports: readonly AgentListener[], host: string): readonly AgentProblem[] {
  const failed = ports.filter((port) => port.kind === 'failed');
  const open = ports.flatMap((port) => (port.kind === 'listening' ? [port.port] : []));
  const rest =
    open.length > 0
      ? `The agent still serves on ${open.join(' and ')}.`
      : 'Until then no gateway can reach this agent; its heartbeats continue.';
  return failed.map(({ port, message }) => ({
    tool: 'agent',
    tried: `listening on ${host}, port ${port}`,
    happened: message,
    remedy: `Stop the other program; the port is tried again every few seconds. ${rest}`,
  }));
}

const isHere = (url: string | null) => isLoopbackHost(URL.parse(url ?? '')?.hostname ?? '');

/** A model of which a gateway has seen that its engine reads only so much of longer prompts. */
export interface WindowCut {
  /** Empty for all but the models that answered most, and if an upstream chose the model. */
  readonly model: string;
  readonly tokens: number;
}

/** Claude Code and its like begin with 15,000 to 20,000 tokens of prompt and tools (docs.ollama.com/context-length asks for 64,000). */
const ENOUGH_TOKENS = 32_000;

const NUMBER = new Intl.NumberFormat('en');

/** What an engine that serves could do better, and does not say itself. */
export function engineAdvice(
  { kind, baseUrl, facts }: Pick<EngineView, 'kind' | 'baseUrl' | 'facts'>,
  cuts: readonly WindowCut[],
): readonly AgentProblem[] {
  const loaded = facts.filter((model) => model.loaded === true);
  const name = ENGINE_NAMES[kind];
  const mostOf = (model?: string) => facts.find(({ id }) => id === model)?.max_context_length;
  const advice: AgentProblem[] = cuts.map(({ model, tokens }) => ({
    tool: name,
    tried: `prompts for ${model}`,
    happened: `they were cut to ${NUMBER.format(tokens)} tokens without an error`,
    remedy: largerWindowOf(kind, mostOf(model)) ?? 'Give it a larger context window.',
  }));
  const [smallest] = loaded
    .filter((model) => isForChat(model) && (mostOf(model.id) ?? ENOUGH_TOKENS) >= ENOUGH_TOKENS)
    .flatMap(({ id, context_length: tokens }) => (tokens === null ? [] : [{ id, tokens }]))
    .toSorted((a, b) => a.tokens - b.tokens);
  const larger = largerWindowOf(kind, mostOf(smallest?.id));
  if (larger !== null && smallest !== undefined && smallest.tokens < ENOUGH_TOKENS) {
    const happened = `it serves ${NUMBER.format(smallest.tokens)} tokens; coding agents need ${NUMBER.format(ENOUGH_TOKENS)} or more`;
    advice.push({ tool: name, tried: baseUrl, happened, remedy: larger });
  }
  for (const { id } of loaded.filter((model) => model.vram_bytes === 0)) {
    // Mostly this happens after a sleep (ollama/ollama#5464, #10053).
    advice.push({
      tool: name,
      tried: baseUrl,
      happened: `it runs ${id} on the processor, not on the GPU`,
      remedy:
        'Restart it. If the machine has slept, on NVIDIA and Linux first run: sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm.',
    });
  }
  return advice;
}

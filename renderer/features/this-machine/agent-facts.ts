import type { AgentMembership, AgentView } from '#shared/agent.ts';
import { engineHealthText, engineName, plainAddress } from './agent-engine.ts';
import { formatAge, formatCount } from '../../text/format.ts';
import { chipText, modelText, type Fact } from '../providers/provider-facts.ts';

export function agentFacts(view: AgentView, serverNow: number): readonly Fact[] {
  const { engine, registry } = view;
  return [
    { label: 'Engine', value: engineText(view) },
    ...(engine === null ? [] : [{ label: 'Model', value: modelText(view.record) }]),
    { label: 'GPU', value: gpuText(view) },
    ...readingFacts(view),
    { label: 'Reports to', value: gatewayText(registry) },
    { label: 'Last heartbeat', value: heartbeatText(registry, serverNow) },
    { label: 'Listens on', value: listenText(view) },
  ];
}

function engineText({ engine, engines }: AgentView): string {
  if (engine === null) return 'none found';
  const name = engine.kind === 'other' ? 'Engine' : engineName(engine.kind);
  const said = `${name}, ${engineHealthText(engine.health)}, at ${plainAddress(engine.baseUrl)}`;
  const others = engines.length - 1;
  return others > 0 ? `${said} (of ${formatCount(engines.length)} found)` : said;
}

function gpuText({ record }: AgentView): string {
  const { count } = record.gpu;
  if (count === 0) return 'none found';
  // A figure stays with its unit where the line is short.
  const chip = chipText(record).replace(/ GB$/, '\u00a0GB');
  return count === 1 ? chip : `${formatCount(count)} × ${chip}`;
}

/** Each value with its source, as the agent says it. */
function readingFacts({ gpuReadings }: AgentView): readonly Fact[] {
  return gpuReadings
    .filter((text) => text !== '')
    .map((value, index) => ({
      label: gpuReadings.length === 1 ? 'Readings' : `Readings, GPU ${index}`,
      value,
    }));
}

function gatewayText({ kind, url }: AgentMembership): string {
  switch (kind) {
    case 'own':
      return 'this gateway';
    case 'joined':
      return url ?? 'another gateway';
    case 'none':
      return 'no gateway';
  }
}

function heartbeatText({ lastAcceptedAt }: AgentMembership, serverNow: number): string {
  return lastAcceptedAt === null ? 'none yet' : formatAge(Math.max(0, serverNow - lastAcceptedAt));
}

function listenText({ server: { host, ports } }: AgentView): string {
  const portsOf = (kind: 'listening' | 'failed') =>
    ports.filter((port) => port.kind === kind).map(({ port }) => port);
  const open = portsOf('listening');
  const failed = portsOf('failed');
  const not = failed.length === 0 ? '' : `, not on ${failed.join(' and ')}`;
  return open.length === 0 ? `nothing${not}` : `${host}:${open.join(' and ')}${not}`;
}

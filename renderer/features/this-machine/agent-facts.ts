import type { AgentMembership, AgentView, AgentEnergy } from '#shared/agent.ts';
import { formatAge } from '../../text/format.ts';
import * as t from '../../text/t.ts';
import type { FactText } from '../../ui/facts.tsx';
import { chipText, modelText } from '../providers/provider-facts.ts';
import { engineHealthText, engineName, plainAddress } from './agent-engine.ts';

const words = t.thisMachine.facts;

export function agentFacts(view: AgentView, serverNow: number): readonly FactText[] {
  const { engine, registry } = view;
  return [
    { label: words.engine, value: engineText(view) },
    ...(engine === null ? [] : [{ label: words.model, value: modelText(view.record) }]),
    { label: words.gpu, value: gpuText(view) },
    ...electricityFacts(view.energy),
    { label: words.gateway, value: gatewayText(registry) },
    { label: words.heartbeat, value: heartbeatText(registry, serverNow) },
    { label: words.listens, value: listenText(view) },
  ];
}

function engineText({ engine, engines }: AgentView): string {
  if (engine === null) return words.noneFound;
  const name = engine.kind === 'other' ? words.otherEngine : engineName(engine.kind);
  const said = words.engineAt(name, engineHealthText(engine.health), plainAddress(engine.baseUrl));
  return engines.length > 1 ? words.ofFound(said, engines.length) : said;
}

function gpuText({ record }: AgentView): string {
  const { count } = record.gpu;
  if (count === 0) return words.noneFound;
  // A no-break space keeps a figure and its unit on one line.
  const chip = chipText(record).replace(/ (?=[MG]B$)/, '\u00a0');
  return count === 1 ? chip : words.gpus(count, chip);
}

function gatewayText({ kind, url }: AgentMembership): string {
  switch (kind) {
    case 'own':
      return words.own;
    case 'joined':
      return url ?? words.another;
    case 'none':
      return words.none;
  }
}

function heartbeatText({ lastAcceptedAt }: AgentMembership, serverNow: number): string {
  return lastAcceptedAt === null
    ? words.noHeartbeat
    : formatAge(Math.max(0, serverNow - lastAcceptedAt));
}

function listenText({ server: { host, ports } }: AgentView): string {
  const portsOf = (kind: 'listening' | 'failed') =>
    ports.filter((port) => port.kind === kind).map(({ port }) => port);
  const open = portsOf('listening');
  const failed = portsOf('failed');
  const not = failed.length === 0 ? '' : words.butNot(failed);
  return (open.length === 0 ? words.nothing : words.address(host, open)) + not;
}

const electricityWords = t.thisMachine.electricity;

const HOURS_A_DAY = 24;
const W_PER_KW = 1000;
const JOULES_PER_KWH = 3_600_000;
const MILLION = 1e6;
/** Before these, the first seconds of a measurement would decide. */
const MIN_TOKENS = 50;

/** What this machine's GPUs take, as far as it is known: when idle, and for a token of each model. */
export function electricityFacts(energy: AgentEnergy): readonly FactText[] {
  const { idleWatts, models, isNet } = energy;
  const name = isNet ? electricityWords.perToken : electricityWords.perTokenGross;
  const measured = models
    .filter(({ tokens }) => tokens >= MIN_TOKENS)
    .map(({ model, joules, tokens }) => ({
      label: name(model),
      value: tokenText(joules / tokens, energy),
    }));
  if (idleWatts === null) return measured;
  return [{ label: electricityWords.idle, value: idleText(idleWatts, energy) }, ...measured];
}

function idleText(watts: number, { priceKwh, currency }: AgentEnergy): string {
  const kwh = (watts * HOURS_A_DAY) / W_PER_KW;
  const cost = priceKwh === null ? null : electricityWords.money(kwh * priceKwh, currency);
  return electricityWords.idleADay(Math.round(watts), kwh, cost);
}

/** Energy of a token, and the hosted price of a million from which the own GPU pays. */
function tokenText(joules: number, { priceKwh, currency }: AgentEnergy): string {
  const perToken = electricityWords.joules(joules);
  if (priceKwh === null) return perToken;
  const price = electricityWords.money(breakEven(joules, priceKwh), currency);
  return electricityWords.pays(perToken, price);
}

/** The price of a million output tokens at which a hosted upstream costs as much as the electricity here. */
export const breakEven = (joulesPerToken: number, priceKwh: number): number =>
  ((joulesPerToken * MILLION) / JOULES_PER_KWH) * priceKwh;

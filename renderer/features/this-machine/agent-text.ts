import type {
  AgentEnergy,
  AgentEngine,
  AgentMembership,
  AgentModel,
  AgentView,
} from '#shared/agent.ts';
import type { Provider } from '#shared/provider.ts';
import type { StateText, Tone } from '../../text/en/states.ts';
import * as t from '../../text/t.ts';
import type { StandingKind } from '../providers/provider-standing.ts';
import { engineHealthText, engineName, plainAddress } from './agent-engine.ts';
import {
  formatAge,
  formatCount,
  formatFileSize,
  formatMemory,
  formatMinute,
  formatList,
} from '../../text/format.ts';
import type { FactText } from '../../ui/facts.tsx';
import { chipText, modelText } from '../providers/provider-facts.ts';

/** The agent's state in words; without ticking figures, because a live region reads it aloud. */
export interface AgentWords extends StateText {
  readonly mark: StandingKind;
  readonly tone: Tone;
  readonly what: string;
  /** Null if there is nothing to do, or if the list of problems says it. */
  readonly todo: string | null;
}

interface AgentBystander {
  /** Whether `local` uses this machine's engine by its fixed address, without the agent. */
  readonly isDirect: boolean;
  /** As the list of this gateway has it, which is newer than the answer to the last heartbeat; null if it is not there. */
  readonly listed: Pick<Provider, 'verification'> | null;
  readonly isOwner: boolean;
  readonly nowMs: number;
}

/** In its first seconds, an agent may not have searched everywhere. */
const SEARCH_S = 5;

const own = t.agentStates;
const any = t.machineStates;

export function agentWords(view: AgentView, bystander: AgentBystander): AgentWords {
  return (
    ownerWords(view, bystander) ??
    engineWords(view) ??
    directWords(view, bystander) ??
    portWords(view) ??
    registryWords(view.registry) ??
    verdictWords(view, bystander) ??
    inUseWords(view)
  );
}

export const offWords = (message: string): AgentWords => say(['stopped', 'grey', own.off], message);

function ownerWords(view: AgentView, bystander: AgentBystander): AgentWords | null {
  const { owner } = view;
  const { isOwner } = bystander;
  if (owner.mode === 'on') return null;
  if (owner.mode === 'leaving') {
    return say(['stopped', 'grey', own.stopping], 'Its agent is stopping.');
  }
  const ofMemory = memoryWords(view, bystander);
  if (ofMemory !== null) return ofMemory;
  if (owner.choice === 'on') {
    const reasons = owner.reasons.join(' ') || 'A rule of the owner holds it back.';
    return say(
      ['paused', 'grey', own.heldBack],
      reasons,
      'It resumes automatically; “Resume” overrides the rule.',
    );
  }
  if (owner.mode === 'draining') {
    return say(
      ['draining', 'grey', any.draining],
      `Held back by ${isOwner ? 'you' : 'its owner'}: running requests finish, and no new ones are taken.`,
    );
  }
  return say(
    ['paused', 'grey', any.paused],
    `Held back by ${
      isOwner
        ? 'you: it takes no requests until you resume it'
        : 'its owner: it takes no requests until it is resumed'
    }.`,
  );
}

/** What is said while models are changed or the owner has freed the memory; a rule that frees it speaks for itself. */
function memoryWords(
  { owner, memory }: AgentView,
  { isOwner, nowMs }: AgentBystander,
): AgentWords | null {
  if (memory.state === 'loading' || memory.state === 'unloading' || memory.state === 'freeing')
    return say(['loading', 'blue', own.changing], owner.reasons.join(' '));
  if (owner.freed === null) return null;
  const untilMs = owner.freed.untilMs;
  const until = untilMs === null ? '' : ` until ${formatMinute(untilMs, nowMs)}`;
  const by = `${isOwner ? 'you' : 'its owner'}${until}`;
  const isTaken = memory.problem !== null;
  return say(
    ['paused', 'grey', isTaken ? own.taken : own.freed],
    isTaken
      ? `Held back by ${by}, but its memory is still taken.`
      : `Its memory is freed by ${by}: it takes no requests.`,
    memory.toLoad.length === 0
      ? null
      : `${isOwner ? '“Resume”' : 'Resuming'} first loads ${formatList(memory.toLoad)}.`,
  );
}

function engineWords({ engine, uptimeS }: AgentView): AgentWords | null {
  if (engine === null) {
    if (uptimeS < SEARCH_S) return say(['pending', 'blue', own.starting], 'Looking for an engine.');
    return say(
      ['engine-down', 'grey', own.noEngine],
      'No engine was found here, so this machine serves nothing.',
      'Start Ollama, llama.cpp, vLLM, LM Studio or another engine; it is detected automatically.',
    );
  }
  return engine.health.status === 'ok' ? null : sickEngineWords(engine);
}

function sickEngineWords({ kind, health }: AgentEngine): AgentWords {
  const name = engineName(kind);
  const down = ['engine-down', 'red', any['engine-down']] as const;
  switch (health.status) {
    case 'loading':
      return say(['loading', 'blue', any.loading], `${name} is loading a model.`);
    case 'unauthorized':
      return say(
        ['engine-down', 'red', own.locked],
        `${name} requires a key, which the agent does not have.`,
        'Start it without one: the agent admits only gateways that it has joined.',
      );
    case 'error':
      return say(down, `${name} answers HTTP ${health.code}.`, 'Check its log.');
    default:
      return say(down, `${name} does not answer.`, 'Check that it is running.');
  }
}

function directWords(
  { useEngineDirectly, engine }: AgentView,
  { isDirect }: AgentBystander,
): AgentWords | null {
  if (useEngineDirectly === null || engine === null) return null;
  if (isDirect) return usedDirectly(engine);
  return say(
    ['wavering', 'amber', own.noGpu],
    `${engineName(engine.kind)} was found here, but no GPU: gateways send requests only to machines that have one.`,
  );
}

function usedDirectly({ kind }: AgentEngine): AgentWords {
  const name = kind === 'other' ? 'its engine' : engineName(kind);
  return say(['serving', 'green', any.direct], `Requests go to ${name} on this machine directly.`);
}

function portWords({ server }: AgentView): AgentWords | null {
  if (server.ports.some(({ kind }) => kind === 'listening')) return null;
  return server.ports.length === 0
    ? say(['pending', 'blue', own.starting], 'Its agent is starting.')
    : say(['unreachable', 'red', any.unreachable], 'No gateway can reach its agent.');
}

function registryWords({ kind, state }: AgentMembership): AgentWords | null {
  const isJoined = kind === 'joined';
  switch (state) {
    case 'not_enrolled':
      return say(
        ['silent', 'red', own.notEnrolled],
        'It belongs to no gateway, so it gets no requests.',
      );
    case 'failing':
      return say(
        ['silent', 'red', own.noContact],
        `Its reports do not reach ${isJoined ? 'the gateway that it joined' : 'this gateway'}.`,
      );
    case 'starting':
      return say(
        ['pending', 'blue', own.starting],
        `It reports to ${isJoined ? 'the gateway that it joined' : 'this gateway'} for the first time.`,
      );
    case 'connected':
      return null;
  }
}

function verdictWords(
  { registry, engine }: AgentView,
  { listed, isDirect }: AgentBystander,
): AgentWords | null {
  const isOwn = registry.kind === 'own';
  const { verification } = (isOwn ? listed : null) ?? registry.standing ?? {};
  if (verification?.routable === true || verification?.status === 'verified') return null;
  if (isOwn && isDirect && engine !== null) return usedDirectly(engine);
  switch (verification?.status) {
    case 'failed':
      return say(
        ['check-failed', 'red', any['check-failed']],
        `The gateway’s test of this machine failed: ${verification.failure_reason}.`,
        isOwn ? 'Its page shows each check.' : null,
      );
    case 'verifying':
      return say(['verifying', 'blue', any.verifying], 'The gateway is testing this machine.');
    default:
      return say(['pending', 'blue', any.pending], 'The gateway tests it in a moment.');
  }
}

function inUseWords({ record }: AgentView): AgentWords {
  return record.status === 'serving'
    ? say(['serving', 'green', any.serving], 'It is answering requests.')
    : say(['idle', 'green', any.idle], 'Tested and waiting for requests.');
}

function say(
  [mark, tone, state]: readonly [StandingKind, Tone, StateText],
  what: string,
  todo: string | null = null,
): AgentWords {
  return { mark, tone, ...state, what, todo };
}

const words = t.thisMachine.memory;

export function modelGroups(models: readonly AgentModel[]) {
  return {
    loaded: models.filter(({ loaded }) => loaded === true),
    others: models.filter(({ loaded }) => loaded !== true),
  };
}

export function modelDetail(model: AgentModel, nowMs: number): string {
  const { engine, use, isRemote, loaded, loadedAt, sizeBytes, vramBytes, contextLength } = model;
  const parts = [
    engineName(engine),
    isRemote ? 'runs in its cloud, not on your GPU' : null,
    use === null || use === 'chat' ? null : words.uses[use],
    loaded === true && loadedAt !== null
      ? `loaded ${formatAge(Math.max(0, nowMs - loadedAt))}`
      : null,
    vramBytes === null ? null : `${formatMemory(vramBytes)} of GPU memory`,
    vramBytes === null && sizeBytes !== null ? formatFileSize(sizeBytes) : null,
    contextLength === null ? null : `${formatCount(contextLength)} tokens`,
  ];
  return parts.filter((part) => part !== null).join(' · ');
}

const NONE_FOUND = 'none found';

export function agentFacts(view: AgentView, serverNow: number): readonly FactText[] {
  const { engine, registry } = view;
  return [
    { label: 'Engine', value: engineText(view) },
    ...(engine === null ? [] : [{ label: 'Model', value: modelText(view.record) }]),
    { label: 'GPU', value: gpuText(view) },
    ...electricityFacts(view.energy),
    // Its own gateway neither lists nor asks it without a GPU.
    ...(registry.kind === 'own' && view.record.gpu.count === 0
      ? []
      : [
          { label: 'Reports to', value: gatewayText(registry) },
          { label: 'Last report', value: heartbeatText(registry, serverNow) },
          { label: 'Agent listens on', value: listenText(view) },
        ]),
  ];
}

function engineText({ engine, engines }: AgentView): string {
  if (engine === null) return NONE_FOUND;
  const name = engine.kind === 'other' ? 'Engine' : engineName(engine.kind);
  const said = `${name}, ${engineHealthText(engine.health)}, at ${plainAddress(engine.baseUrl)}`;
  return engines.length > 1 ? `${said} (of ${formatCount(engines.length)} found)` : said;
}

function gpuText({ record }: AgentView): string {
  const { count } = record.gpu;
  if (count === 0) return NONE_FOUND;
  // A no-break space keeps a figure and its unit on one line.
  const chip = chipText(record).replace(/ (?=[MG]B$)/, '\u00a0');
  return count === 1 ? chip : `${formatCount(count)} × ${chip}`;
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
  const not = failed.length === 0 ? '' : `, not on ${formatList(failed.map(String))}`;
  return (open.length === 0 ? 'nothing' : `${host}:${formatList(open.map(String))}`) + not;
}

const moneyText = (amount: number, currency: string): string =>
  `${amount.toFixed(amount < 1 ? 3 : 2)} ${currency}`;

const HOURS_A_DAY = 24;
const W_PER_KW = 1000;
const JOULES_PER_KWH = 3_600_000;
const MILLION = 1e6;
/** With fewer tokens, the first seconds of a measurement would decide. */
const MIN_TOKENS = 50;

/** What this machine's GPUs take, as far as it is known: when idle, and for a token of each model. */
export function electricityFacts(energy: AgentEnergy): readonly FactText[] {
  const { idleWatts, models, isNet } = energy;
  const name = isNet
    ? (model: string) => `A token of ${model}`
    : (model: string) => `A token of ${model}, idle power included`;
  const measured = models
    .filter(({ tokens, joules }) => tokens >= MIN_TOKENS && joules > 0)
    .map(({ model, joules, tokens }) => ({
      label: name(model),
      value: tokenText(joules / tokens, energy),
    }));
  if (idleWatts === null) return measured;
  return [{ label: 'GPU when idle', value: idleText(idleWatts, energy) }, ...measured];
}

function idleText(watts: number, { priceKwh, currency }: AgentEnergy): string {
  const kwh = (watts * HOURS_A_DAY) / W_PER_KW;
  const cost = priceKwh === null ? null : moneyText(kwh * priceKwh, currency);
  return `${Math.round(watts)} W: ${kwh.toFixed(2)} kWh a day${cost === null ? '' : `, ${cost}`}`;
}

/** Energy of a token, and the hosted price of a million from which the own GPU pays. */
function tokenText(joules: number, { priceKwh, currency }: AgentEnergy): string {
  const perToken = `${joules.toPrecision(2)} J`;
  if (priceKwh === null) return perToken;
  const price = moneyText(breakEven(joules, priceKwh), currency);
  return `${perToken}: pays above ${price} for a million hosted output tokens`;
}

/** The price of a million output tokens at which a hosted upstream costs as much as the electricity here. */
export const breakEven = (joulesPerToken: number, priceKwh: number): number =>
  ((joulesPerToken * MILLION) / JOULES_PER_KWH) * priceKwh;

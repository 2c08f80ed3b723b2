import type { AgentEngine, AgentMembership, AgentView } from '#shared/agent.ts';
import { engineName } from './agent-engine.ts';
import type { StandingKind } from '../providers/provider-standing.ts';
import type { Tone } from '../overview/upstream-status-text.ts';

/** No ticking figures: a live region reads it aloud. */
export interface AgentWords {
  readonly mark: StandingKind;
  readonly tone: Tone;
  readonly word: string;
  readonly what: string;
  /** Null when there is nothing to do or the list of problems says it. */
  readonly todo: string | null;
}

export interface AgentBystander {
  /** Local uses this machine's engine by its fixed address, without the agent. */
  readonly isDirect: boolean;
  readonly isOwner: boolean;
}

/** Within these, an agent has not looked everywhere yet. */
const SEARCH_S = 5;

/** Says where this machine stands: what keeps it out first, its owner's wish before all. */
export function agentWords(view: AgentView, bystander: AgentBystander): AgentWords {
  return (
    ownerWords(view, bystander) ??
    engineWords(view) ??
    directWords(view, bystander) ??
    portWords(view) ??
    registryWords(view.registry) ??
    verdictWords(view) ??
    inUseWords(view)
  );
}

export function offWords(message: string): AgentWords {
  return say(['stopped', 'grey', 'switched off'], message);
}

function ownerWords({ owner }: AgentView, { isOwner }: AgentBystander): AgentWords | null {
  const who = isOwner ? 'you' : 'its owner';
  const until = isOwner ? 'until you resume it' : 'until it is resumed';
  if (owner.mode === 'on') return null;
  if (owner.mode === 'leaving') {
    return say(['stopped', 'grey', 'stopping'], 'Its agent is stopping.');
  }
  if (owner.wish === 'on') {
    const todo = 'It resumes automatically; “Resume” overrides the rule.';
    const reasons = owner.reasons.join(' ') || 'An owner rule pauses it.';
    return say(['paused', 'grey', 'held back'], reasons, todo);
  }
  if (owner.mode === 'draining') {
    return say(
      ['draining', 'grey', 'draining'],
      `Drained by ${who}: running requests finish, and no new ones are taken.`,
    );
  }
  const how = owner.wish === 'drained' ? 'Drained' : 'Paused';
  return say(['paused', 'grey', 'paused'], `${how} by ${who}: it takes no requests ${until}.`);
}

function engineWords({ engine, uptimeS }: AgentView): AgentWords | null {
  if (engine === null) {
    if (uptimeS < SEARCH_S) return say(['pending', 'blue', 'starting'], 'Looking for an engine.');
    return say(
      ['engine-down', 'grey', 'no engine'],
      'No engine was found here, so this machine serves nothing.',
      'Start Ollama, llama.cpp, vLLM, LM Studio or another; it is detected automatically.',
    );
  }
  return engine.health.status === 'ok' ? null : sickEngineWords(engine);
}

function sickEngineWords({ kind, health }: AgentEngine): AgentWords {
  const name = engineName(kind);
  switch (health.status) {
    case 'loading':
      return say(['loading', 'blue', 'loading'], `${name} is loading a model.`);
    case 'unauthorized':
      return say(
        ['engine-down', 'red', 'engine locked'],
        `${name} requires a key, which the agent does not have.`,
        'Start it without one: the agent admits only gateways that it has joined.',
      );
    case 'error':
      return say(
        ['engine-down', 'red', 'engine down'],
        `${name} answers HTTP ${health.code}.`,
        'Check its log.',
      );
    default:
      return say(
        ['engine-down', 'red', 'engine down'],
        `${name} does not answer.`,
        'Check that it is running.',
      );
  }
}

function directWords(
  { useEngineDirectly, engine }: AgentView,
  { isDirect }: AgentBystander,
): AgentWords | null {
  if (useEngineDirectly === null || engine === null) return null;
  const name = engineName(engine.kind);
  if (isDirect) {
    return say(
      ['serving', 'green', 'used directly'],
      `Local calls ${engine.kind === 'other' ? 'its engine' : name} on this machine directly.`,
    );
  }
  return say(
    ['wavering', 'amber', 'no GPU'],
    `${name} was found here, but no GPU: gateways send requests only to machines that have one.`,
  );
}

function portWords({ server }: AgentView): AgentWords | null {
  if (server.ports.some(({ kind }) => kind === 'listening')) return null;
  return server.ports.length === 0
    ? say(['pending', 'blue', 'starting'], 'Its agent is starting.')
    : say(['unreachable', 'red', 'unreachable'], 'No gateway can reach its agent.');
}

function registryWords({ kind, state }: AgentMembership): AgentWords | null {
  const whose = kind === 'joined' ? 'the gateway that it joined' : 'this gateway';
  switch (state) {
    case 'not_enrolled':
      return say(
        ['silent', 'red', 'not enrolled'],
        'It belongs to no gateway, so it gets no requests.',
      );
    case 'failing':
      return say(['silent', 'red', 'no contact'], `Its heartbeats do not reach ${whose}.`);
    case 'starting':
      return say(['pending', 'blue', 'starting'], `It reports to ${whose} for the first time.`);
    case 'connected':
      return null;
  }
}

function verdictWords({ registry }: AgentView): AgentWords | null {
  const verification = registry.standing?.verification;
  switch (verification?.status) {
    case 'verified':
      return null;
    case 'failed':
      return say(
        ['check-failed', 'red', 'check failed'],
        `The gateway’s check of this machine failed: ${verification.failure_reason}.`,
        registry.kind === 'own' ? 'Its page shows each check.' : null,
      );
    case 'verifying':
      return say(['verifying', 'blue', 'being checked'], 'The gateway is checking this machine.');
    default:
      return say(['pending', 'blue', 'waiting'], 'Waiting for the gateway to verify it.');
  }
}

function inUseWords({ record }: AgentView): AgentWords {
  return record.status === 'serving'
    ? say(['serving', 'green', 'serving'], 'It is answering requests.')
    : say(['idle', 'green', 'ready'], 'Verified and waiting for requests.');
}

function say(
  [mark, tone, word]: readonly [StandingKind, Tone, string],
  what: string,
  todo: string | null = null,
): AgentWords {
  return { mark, tone, word, what, todo };
}

import type { AgentView, OwnerChoice } from '#shared/agent.ts';
import { createEnrollmentFile } from '../agent/storage.ts';
import { systemClock } from '../platform/clock.ts';
import { answer, type CommandOutcome, EXIT, failed, type Input } from './command.ts';
import { ask, askThen, findRunning } from './running-app.ts';
import { OWN_COMMAND } from '../platform/process.ts';

/** Sets the mode of this machine and prints the new state. */
export function setMode({ dataDirectory }: Input, mode: OwnerChoice): Promise<CommandOutcome> {
  const call = { method: 'POST', path: 'agent/mode', json: { mode } } as const;
  return askThen(dataDirectory, call, ({ owner, inFlight }: AgentView) =>
    answer({ owner, inFlight }, stateLine({ owner, inFlight })),
  );
}

export function stateLine({ owner, inFlight }: Pick<AgentView, 'owner' | 'inFlight'>): string {
  const why = owner.reasons.join(' ');
  switch (owner.mode) {
    case 'on':
      return 'on: this machine takes requests.';
    case 'draining':
      return `finishing (${inFlight} still running): ${why}`;
    case 'paused':
      return `held back: ${why}`;
    case 'leaving':
      return `leaving: ${why}`;
  }
}

/** Leaves the gateway that this machine has joined. If no Inglenook runs here, removes the saved enrolment. */
export async function leave({ dataDirectory }: Input): Promise<CommandOutcome> {
  if ((await findRunning(dataDirectory)) === null) return leaveStandalone(dataDirectory);
  const before = await ask<AgentView>(dataDirectory, { method: 'GET', path: 'agent' });
  if (before.kind === 'failed') return before;
  const { registry } = before.body;
  if (registry.kind !== 'joined') return answer({ left: null }, NOT_JOINED);
  const asked = await ask(dataDirectory, { method: 'POST', path: 'agent/leave' });
  return asked.kind === 'failed' ? asked : left(registry.url ?? 'the gateway');
}

async function leaveStandalone(directory: string): Promise<CommandOutcome> {
  const file = createEnrollmentFile(directory, systemClock);
  const { enrolment } = file.load();
  if (enrolment === null) return answer({ left: null }, NOT_JOINED);
  const failure = await file.remove();
  if (failure !== null) return failed(`The enrolment could not be removed (${failure}).`);
  return left(enrolment.registryUrl);
}

const NOT_JOINED = 'This machine has not joined another gateway.';

const left = (url: string) =>
  answer(
    { left: url },
    `Left ${url}. To remove this machine from its list, use "Remove" in its dashboard.`,
  );

/** Ends the pause of an upstream or a machine. */
export function reset({ dataDirectory, words: [id = ''] }: Input): Promise<CommandOutcome> {
  const path = `circuits/${encodeURIComponent(id)}/reset`;
  return askThen(dataDirectory, { method: 'POST', path }, () =>
    answer({ id }, `${id} is called again.`),
  );
}

/** Longer than the gateway waits for running requests and an engine that reads a large model from a slow disk. */
const TIMEOUT_MS = 15 * 60_000;

/** Unloads all models of this machine, which takes no requests until then; exit code 1 if one stays in memory. */
export async function free({ dataDirectory, options }: Input): Promise<CommandOutcome> {
  const span = options['for'];
  const minutes = typeof span === 'string' ? minutesIn(span) : null;
  if (typeof span === 'string' && minutes === null) return badSpan(span);
  const json = minutes === null ? {} : { minutes };
  const call = { method: 'POST', path: 'agent/free', json, timeoutMs: TIMEOUT_MS } as const;
  return askThen(dataDirectory, call, ({ owner, memory }: AgentView) => {
    const text = freedText({ owner, memory }, new Date());
    return answer({ owner, memory }, text, {
      exitCode: memory.problem === null ? EXIT.done : EXIT.failed,
    });
  });
}

const badSpan = (span: string) =>
  failed(
    `"${span}" is not a time of up to a week: write 2h, 90m, 1h30m, or a number of minutes.`,
    EXIT.usage,
  );

const MAX_MINUTES = 7 * 24 * 60;

/** Minutes in a time such as `1h30m` or `90`; null if the text is no time, or over a week. */
export function minutesIn(span: string): number | null {
  const [, hours = 0, minutes = 0] =
    /^(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m?)?$/.exec(span) ?? [];
  const total = 60 * Number(hours) + Number(minutes);
  return total > 0 && total <= MAX_MINUTES ? total : null;
}

interface FreedFacts {
  readonly owner: Pick<AgentView['owner'], 'freed'>;
  readonly memory: Pick<AgentView['memory'], 'toLoad' | 'problem'>;
}

export function freedText({ owner, memory }: FreedFacts, now: Date): string {
  const untilMs = owner.freed?.untilMs ?? null;
  const until = untilMs === null ? '' : ` until ${clockTime(new Date(untilMs), now)}`;
  const { toLoad, problem } = memory;
  if (problem !== null)
    return `This machine takes no requests${until}, but memory is still taken: ${problem}`;
  const what = toLoad.length === 0 ? 'No model was loaded.' : `Unloaded: ${toLoad.join(', ')}.`;
  return `freed${until}. ${what} Other sources answer meanwhile; "${OWN_COMMAND} resume" ends it and loads the same models again.`;
}

/** The time of day, with the day if that is not today. */
function clockTime(at: Date, now: Date): string {
  const time = at.toTimeString().slice(0, 5);
  return at.toDateString() === now.toDateString() ? time : `${at.toDateString()} ${time}`;
}

/** Loads a model on this machine, or unloads it, once no request runs. */
export function changeModel(
  { dataDirectory, words: [model = ''] }: Input,
  action: 'load' | 'unload',
): Promise<CommandOutcome> {
  const json = { model, action };
  const call = { method: 'POST', path: 'agent/models', json, timeoutMs: TIMEOUT_MS } as const;
  return askThen(dataDirectory, call, () => answer(json, `${model}: ${action}ed.`));
}

import { z } from 'zod';
import type { AgentView, AgentWish } from '#shared/agent.ts';
import { HOSTED_IDS, UPSTREAM_IDS } from '#shared/ids.ts';
import { createEnrollmentFile } from '../agent/storage/enrollment-file.ts';
import { systemClock } from '../platform/clock.ts';
import { answer, type CommandOutcome, EXIT, failed, type Input } from './command.ts';
import { ask, findRunning } from './running-app.ts';
import { didYouMean } from './arguments.ts';

/** What commands read of this machine's agent. */
export const AGENT = z.looseObject({
  owner: z.looseObject({
    mode: z.enum(['on', 'paused', 'draining', 'leaving']),
    reasons: z.array(z.string()),
  }),
  inFlight: z.number(),
});

/** Sets the mode of this machine and prints the new state. */
export async function setMode({ dataDirectory }: Input, wish: AgentWish): Promise<CommandOutcome> {
  const json = { wish };
  const asked = await ask(dataDirectory, {
    method: 'POST',
    path: 'agent/mode',
    json,
    answer: AGENT,
  });
  if (asked.kind === 'failed') return asked;
  const { owner, inFlight } = asked.body;
  return answer({ owner, inFlight }, stateLine({ owner, inFlight }));
}

export function stateLine(agent: {
  readonly owner: Pick<AgentView['owner'], 'mode' | 'reasons'>;
  readonly inFlight: number;
}): string {
  const { owner, inFlight } = agent;
  const why = owner.reasons.join(' ');
  switch (owner.mode) {
    case 'on':
      return 'on: this machine takes requests.';
    case 'draining':
      return `draining (${inFlight} still running): ${why}`;
    case 'paused':
    case 'leaving':
      return `${owner.mode}: ${why}`;
  }
}

/** Leaves the gateway that this machine has joined. If no Switchyard runs here, removes the saved enrolment. */
export async function leave({ dataDirectory }: Input): Promise<CommandOutcome> {
  if ((await findRunning(dataDirectory)) === null) return leaveStandalone(dataDirectory);
  const before = await ask(dataDirectory, { method: 'GET', path: 'agent', answer: MEMBER });
  if (before.kind === 'failed') return before;
  const { registry } = before.body;
  if (registry.kind !== 'joined') return answer({ left: null }, NOT_JOINED);
  const call = { method: 'POST', path: 'agent/leave', answer: z.unknown() } as const;
  const asked = await ask(dataDirectory, call);
  return asked.kind === 'failed' ? asked : left(registry.url ?? 'the gateway');
}

const MEMBER = z.looseObject({
  registry: z.looseObject({ kind: z.string(), url: z.string().nullable() }),
});

async function leaveStandalone(directory: string): Promise<CommandOutcome> {
  const file = createEnrollmentFile(directory, systemClock, process.platform);
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

/** Closes the circuit of an upstream or a machine. */
export async function reset({ dataDirectory, words: [id = ''] }: Input): Promise<CommandOutcome> {
  const path = `circuits/${encodeURIComponent(id)}/reset`;
  const asked = await ask(dataDirectory, { method: 'POST', path, answer: z.unknown() });
  if (asked.kind === 'answered') return answer({ id }, `${id} is called again.`);
  if (asked.exitCode === EXIT.notRunning) return asked;
  return failed(`${asked.message}${didYouMean(id, UPSTREAM_IDS)}`);
}

const PREFERRED = z.object({
  preferred: z.object({ id: z.enum(HOSTED_IDS), until: z.string() }).nullable(),
});

/** Has requests try a hosted upstream before the others for an hour; `none` ends that. */
export async function prefer({ dataDirectory, words: [id] }: Input): Promise<CommandOutcome> {
  const json = { id: id === 'none' ? null : id };
  const call = { method: 'PUT', path: 'preference', json, answer: PREFERRED } as const;
  const asked = await ask(dataDirectory, call);
  if (asked.kind === 'failed') return asked;
  const { preferred } = asked.body;
  const said =
    preferred === null
      ? 'Local is tried first again.'
      : `${preferred.id} is tried first for an hour, then Local again.`;
  return answer(asked.body, said);
}

import type { AgentView, AgentWish } from '#shared/agent.ts';
import { command } from './running-app.ts';

/** Prints a new control link of the running gateway; exit code 1 if none runs. */
export async function openLink(dataDirectory: string): Promise<void> {
  const body = await command(dataDirectory, { method: 'POST', path: 'sessions/codes' });
  if (body !== null) process.stdout.write(`${String(body['link'])}\n`);
}

/** Sets the mode of this machine in the running Switchyard, and prints the resulting state. */
export async function sendModeCommand(dataDirectory: string, wish: AgentWish): Promise<void> {
  const call = { method: 'POST', path: 'agent/mode', json: { wish } } as const;
  const body = await command(dataDirectory, call);
  // The same program answered, so its shape is known.
  if (body !== null) process.stdout.write(`${stateLine(body as unknown as AgentView)}\n`);
}

export function stateLine({ owner, inFlight }: Pick<AgentView, 'owner' | 'inFlight'>): string {
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

import type { AgentView, AgentWish } from '#shared/agent.ts';
import { command } from './running-app.ts';

/** Asks the running gateway for a new control link and prints it; exit code 1 where none runs. */
export async function openLink(dataDirectory: string): Promise<void> {
  const body = await command(dataDirectory, { method: 'POST', path: 'sessions/codes' });
  if (body !== null) process.stdout.write(`${String(body['link'])}\n`);
}

/** Gives an order to the machine of the Switchyard that runs, and prints the state that follows. */
export async function sendModeCommand(dataDirectory: string, wish: AgentWish): Promise<void> {
  const call = { method: 'POST', path: 'agent/mode', json: { wish } } as const;
  const body = await command(dataDirectory, call);
  // The answer of the very program that this command is part of.
  if (body !== null) process.stdout.write(`${stateLine(body as unknown as AgentView)}\n`);
}

/** How this machine serves now, in one line. */
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

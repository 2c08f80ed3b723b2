import type { Request, Response } from 'express';
import type { AgentWish, DoctorReport, GpuFigures } from '#shared/agent.ts';
import { type JoinLine, parseJoinLine } from '#shared/join-line.ts';

import { type GatewayError, invalidParam } from '../http/errors.ts';
import { sendJson } from '../../platform/http/responses.ts';
import { sendError } from '../http/responses.ts';

/** The agent of this machine, as its routes use it. */
export interface AgentApi {
  view(): unknown;
  /** This machine's GPUs as last read. */
  gpus(): readonly GpuFigures[];
  /** `drained` lets running requests finish, `paused` ends them. */
  setMode(mode: AgentWish): Promise<void>;
  join(
    line: JoinLine,
  ): Promise<
    | { readonly kind: 'joined'; readonly url: string; readonly warning: string | null }
    | { readonly kind: 'failed'; readonly happened: string; readonly remedy: string | null }
  >;
  leave(): Promise<void>;
  /** Runs the registry's checks from the machine's side. */
  runChecks(): Promise<DoctorReport>;
}

const MODES: readonly AgentWish[] = ['on', 'paused', 'drained'];

const SWITCHED_OFF: GatewayError = {
  status: 409,
  code: 'agent_off',
  message: 'The agent of this machine is switched off; set SWITCHYARD_AGENT to true and restart.',
};

/** @param agent null while it is switched off: every route then answers 409 */
export function agentHandlers(agent: AgentApi | null) {
  const withAgent =
    (handle: (agent: AgentApi, req: Request, res: Response) => void | Promise<void>) =>
    (req: Request, res: Response) =>
      agent === null ? sendError(res, SWITCHED_OFF) : handle(agent, req, res);
  return {
    view: withAgent((each, _req, res) => sendJson(res, 200, each.view())),
    setMode: withAgent(setMode),
    join: withAgent(join),
    leave: withAgent(async (each, _req, res) => {
      await each.leave();
      sendJson(res, 200, each.view());
    }),
    doctor: withAgent(async (each, _req, res) => sendJson(res, 200, await each.runChecks())),
  };
}

async function setMode(agent: AgentApi, req: Request, res: Response): Promise<void> {
  const wish = textAt(req, 'wish');
  const mode = MODES.find((each) => each === wish);
  if (mode === undefined) {
    sendError(res, invalidParam('wish', `must be one of ${MODES.join(', ')}`));
    return;
  }
  await agent.setMode(mode);
  sendJson(res, 200, agent.view());
}

async function join(agent: AgentApi, req: Request, res: Response): Promise<void> {
  const line = textAt(req, 'line');
  const parsed = line === null ? null : parseJoinLine(line);
  if (line !== null && parsed === null) {
    sendError(
      res,
      invalidParam('line', 'must be the whole line that "Add a machine" shows on a gateway'),
    );
    return;
  }
  const url = parsed?.url ?? textAt(req, 'url');
  const token = parsed?.token ?? textAt(req, 'token');
  if (url === null || !isHttpUrl(url)) {
    sendError(res, invalidParam('url', 'must be the address of a gateway, with http or https'));
    return;
  }
  if (token === null || !/^[0-9a-f]{64}$/.test(token)) {
    sendError(res, invalidParam('token', 'must be the 64 hexadecimal digits of the join line'));
    return;
  }
  const joined = await agent.join({ url, others: parsed?.others ?? [], token });
  if (joined.kind === 'joined') {
    const { id } = agent.view() as { readonly id: string };
    sendJson(res, 200, { id, url: joined.url, warning: joined.warning });
    return;
  }
  const message = [joined.happened, joined.remedy].filter((part) => part !== null).join(' ');
  sendError(res, { status: 502, code: 'join_failed', message });
}

function textAt(req: Request, field: string): string | null {
  const body = req.body as Readonly<Record<string, unknown>> | undefined;
  const value = body !== undefined && Object.hasOwn(body, field) ? body[field] : null;
  return typeof value === 'string' ? value : null;
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

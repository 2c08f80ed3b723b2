import type { Request, Response } from 'express';
import type { DoctorReport } from '#shared/agent.ts';
import type { GatewayError } from '../http/errors.ts';
import { sendError, sendJson } from '../http/responses.ts';
import type { Route } from './routes.ts';

/** What an owner may wish of the agent: `drained` lets what runs finish, `paused` ends it. */
const WISHES = ['on', 'paused', 'drained'] as const;

type Wish = (typeof WISHES)[number];

/** What the routes need of the agent of this machine. */
export interface AgentApi {
  view(): unknown;
  setMode(wish: Wish): Promise<void>;
  join(
    url: string,
    token: string,
  ): Promise<
    | { readonly kind: 'joined'; readonly url: string; readonly warning: string | null }
    | { readonly kind: 'failed'; readonly happened: string; readonly remedy: string | null }
  >;
  leave(): Promise<void>;
  /** Runs the checks of a registry from this side. */
  runChecks(): Promise<DoctorReport>;
}

const SWITCHED_OFF: GatewayError = {
  status: 409,
  code: 'agent_off',
  message: 'The agent of this machine is switched off; set SWITCHYARD_AGENT to true and restart.',
};

/** Routes to the agent of this machine: its view, its owner's wishes, where it reports. */
export function agentRoutes(agent: AgentApi | null): Route[] {
  const withAgent =
    (handle: (agent: AgentApi, req: Request, res: Response) => void | Promise<void>) =>
    (req: Request, res: Response) =>
      agent === null ? sendError(res, SWITCHED_OFF) : handle(agent, req, res);
  return [
    {
      method: 'GET',
      paths: ['/api/v1/agent'],
      who: 'readers',
      handle: withAgent((each, _req, res) => sendJson(res, 200, each.view())),
    },
    {
      method: 'POST',
      paths: ['/api/v1/agent/mode'],
      who: 'control',
      handle: withAgent(async (each, req, res) => {
        const wish = textAt(req, 'wish');
        const known = WISHES.find((one) => one === wish);
        if (known === undefined) {
          sendError(res, badField('wish', `must be one of ${WISHES.join(', ')}`));
          return;
        }
        await each.setMode(known);
        sendJson(res, 200, each.view());
      }),
    },
    {
      method: 'POST',
      paths: ['/api/v1/agent/join'],
      who: 'control',
      handle: withAgent(async (each, req, res) => {
        const [url, token] = [textAt(req, 'url'), textAt(req, 'token')];
        if (url === null || !isHttpUrl(url)) {
          sendError(res, badField('url', 'must be the address of a gateway, with http or https'));
        } else if (token === null || !/^[0-9a-f]{64}$/.test(token)) {
          sendError(res, badField('token', 'must be the 64 hex digits of the line'));
        } else await sendJoined(res, each, { url, token });
      }),
    },
    {
      method: 'POST',
      paths: ['/api/v1/agent/leave'],
      who: 'control',
      handle: withAgent(async (each, _req, res) => {
        await each.leave();
        sendJson(res, 200, each.view());
      }),
    },
    {
      method: 'POST',
      paths: ['/api/v1/agent/doctor'],
      who: 'control',
      handle: withAgent(async (each, _req, res) => sendJson(res, 200, await each.runChecks())),
    },
  ];
}

async function sendJoined(
  res: Response,
  agent: AgentApi,
  { url, token }: { readonly url: string; readonly token: string },
): Promise<void> {
  const joined = await agent.join(url, token);
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

function badField(param: string, rule: string): GatewayError {
  return { status: 400, code: 'invalid_request', message: `'${param}' ${rule}.`, param };
}

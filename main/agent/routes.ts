import { OWNER_CHOICES } from '#shared/agent.ts';
import { parseJoinLine } from '#shared/join-line.ts';
import { registryOrigin } from '../platform/addresses.ts';
import { memberOf } from '../platform/json.ts';
import {
  type Answer,
  answered,
  invalidRequest,
  type Refusal,
  type Route,
  route,
  type RouteRequest,
  textAt,
} from '../platform/http/routes.ts';
import type { Agent } from './agent.ts';
import type { ModelAction } from './engines/tell-engine.ts';

/** What the owner may do with this machine's agent. */
type OwnersAgent = Pick<Agent, 'view' | 'setMode' | 'free' | 'changeModel' | 'join' | 'leave'>;

const SWITCHED_OFF: Refusal = {
  kind: 'refused',
  status: 409,
  code: 'agent_off',
  message:
    'The agent of this machine is switched off. Set agent.enabled (INGLENOOK_AGENT) to true and restart.',
};

/** @param agent null while it is switched off: every route then answers 409 */
export function agentRoutes(agent: OwnersAgent | null): readonly Route[] {
  const withAgent =
    (answer: (agent: OwnersAgent, request: RouteRequest) => Answer | Promise<Answer>) =>
    (request: RouteRequest) => (agent === null ? SWITCHED_OFF : answer(agent, request));
  const post = (name: string, answer: Parameters<typeof withAgent>[0]) =>
    route('POST', `/api/v1/agent/${name}`, 'control', withAgent(answer));
  const view = withAgent((each) => answered(each.view()));
  return [
    route('GET', '/api/v1/agent', 'callers', view),
    post('mode', setMode),
    post('free', free),
    post('models', changeModel),
    post('join', join),
    post('leave', async (each) => {
      await each.leave();
      return answered(each.view());
    }),
  ];
}

async function setMode(agent: OwnersAgent, { json }: RouteRequest): Promise<Answer> {
  const asked = textAt(json, 'mode');
  const choice = OWNER_CHOICES.find((each) => each === asked);
  if (choice === undefined) return badField('mode', `must be one of ${OWNER_CHOICES.join(', ')}`);
  await agent.setMode(choice);
  return answered(agent.view());
}

/** A week; to free the memory for longer, leave the time out. */
const MAX_FREE_MIN = 10_080;

async function free(agent: OwnersAgent, { json }: RouteRequest): Promise<Answer> {
  const minutes = memberOf(json, 'minutes') ?? null;
  const isTime = typeof minutes === 'number' && minutes > 0 && minutes <= MAX_FREE_MIN;
  const rule = `must be a number above 0 and up to ${MAX_FREE_MIN} (a week), or left out`;
  if (minutes !== null && !isTime) return badField('minutes', rule);
  await agent.free(minutes);
  return answered(agent.view());
}

async function changeModel(agent: OwnersAgent, { json }: RouteRequest): Promise<Answer> {
  const model = textAt(json, 'model');
  const action = MODEL_ACTIONS.find((each) => each === textAt(json, 'action'));
  if (model === null || model === '') return badField('model', 'must name a model of this machine');
  if (action === undefined) return badField('action', `must be ${MODEL_ACTIONS.join(' or ')}`);
  const result = await agent.changeModel(action, model);
  switch (result.kind) {
    case 'done':
      return answered(agent.view());
    case 'refused': {
      const status = result.code === 'model_not_found' ? 404 : 409;
      return { kind: 'refused', status, code: result.code, message: result.message };
    }
    case 'failed': {
      const message = [`${result.happened}.`, result.remedy].filter((part) => part !== null);
      return { kind: 'refused', status: 502, code: 'engine_refused', message: message.join(' ') };
    }
  }
}

const MODEL_ACTIONS: readonly ModelAction[] = ['load', 'unload'];

async function join(agent: OwnersAgent, { json }: RouteRequest): Promise<Answer> {
  const line = textAt(json, 'line');
  const parsed = line === null ? null : parseJoinLine(line);
  if (line !== null && parsed === null)
    return badField('line', 'must be the whole command that "Add a machine" shows on a gateway');
  const url = registryOrigin(parsed?.url ?? textAt(json, 'url') ?? '');
  const token = parsed?.token ?? textAt(json, 'token');
  if (url === null)
    return badField('url', 'must be the address of a gateway, with http or https and no path');
  if (token === null || !/^[0-9a-f]{64}$/.test(token))
    return badField('token', 'must be the 64 hexadecimal digits of the join command');
  const joined = await agent.join({ url, others: parsed?.others ?? [], token });
  if (joined.kind === 'joined')
    return answered({ id: agent.view().id, url: joined.url, warning: joined.warning });
  const message = [joined.happened, joined.remedy].filter((part) => part !== null).join(' ');
  return { kind: 'refused', status: 502, code: 'join_failed', message };
}

const badField = (param: string, rule: string) => invalidRequest(`'${param}' ${rule}.`, param);

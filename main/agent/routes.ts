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
  const view = () => (agent === null ? SWITCHED_OFF : answered(agent.view()));
  /** Answers with the view of the agent after `act`, unless that has an answer of its own. */
  const post = (name: string, act: (owned: OwnersAgent, json: unknown) => Promise<Answer | void>) =>
    route('POST', `/api/v1/agent/${name}`, 'control', async ({ json }) =>
      agent === null ? SWITCHED_OFF : ((await act(agent, json)) ?? view()),
    );
  return [
    route('GET', '/api/v1/agent', 'callers', view),
    post('mode', setMode),
    post('free', free),
    post('models', changeModel),
    post('join', join),
    post('leave', (owned) => owned.leave()),
  ];
}

async function setMode(agent: OwnersAgent, json: unknown): Promise<Refusal | void> {
  const asked = textAt(json, 'mode');
  const choice = OWNER_CHOICES.find((each) => each === asked);
  if (choice === undefined) return badField('mode', `must be one of ${OWNER_CHOICES.join(', ')}`);
  await agent.setMode(choice);
}

/** A week; to free the memory for longer, leave the time out. */
const MAX_FREE_MIN = 10_080;

async function free(agent: OwnersAgent, json: unknown): Promise<Refusal | void> {
  const minutes = memberOf(json, 'minutes') ?? null;
  const isTime = typeof minutes === 'number' && minutes > 0 && minutes <= MAX_FREE_MIN;
  const rule = `must be a number above 0 and up to ${MAX_FREE_MIN} (a week), or left out`;
  if (minutes !== null && !isTime) return badField('minutes', rule);
  await agent.free(minutes);
}

async function changeModel(agent: OwnersAgent, json: unknown): Promise<Refusal | void> {
  const model = textAt(json, 'model');
  const action = MODEL_ACTIONS.find((each) => each === textAt(json, 'action'));
  if (model === null || model === '') return badField('model', 'must name a model of this machine');
  if (action === undefined) return badField('action', `must be ${MODEL_ACTIONS.join(' or ')}`);
  const result = await agent.changeModel(action, model);
  if (result.kind === 'refused')
    return { ...result, status: result.code === 'model_not_found' ? 404 : 409 };
  if (result.kind === 'failed') {
    const message = [`${result.happened}.`, result.remedy].filter((part) => part !== null);
    return { kind: 'refused', status: 502, code: 'engine_refused', message: message.join(' ') };
  }
}

const MODEL_ACTIONS: readonly ModelAction[] = ['load', 'unload'];

async function join(agent: OwnersAgent, json: unknown): Promise<Answer> {
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

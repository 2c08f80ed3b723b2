import { createCaller } from '../../renderer/api/client.ts';
import { expect, test } from 'vitest';
import { createAgent } from '../../renderer/api/agent.ts';
import { agentView } from './agent-builders.ts';

function setUp(answer: () => Response) {
  const asked: string[] = [];
  const caller = createCaller(
    {
      request: async (path, { method = 'GET', body } = {}) => {
        asked.push([method, path, body].filter((part) => typeof part === 'string').join(' '));
        return answer();
      },
    },
    () => undefined,
  );
  const agent = createAgent(caller);
  return { agent, asked };
}

const refused = (status: number, message: string) =>
  Response.json({ error: { message } }, { status });

test('the dashboard keeps the agent’s view for the next visit', async () => {
  const view = agentView();
  const { agent, asked } = setUp(() => Response.json(view));
  expect(agent.last()).toBeNull();
  expect(await agent.read()).toEqual({ ok: true, value: { kind: 'on', view } });
  expect(agent.last()).toEqual({ kind: 'on', view });
  expect(asked).toEqual(['GET /api/v1/agent']);
});

test('a failed reading keeps the agent’s last view and has the gateway’s message', async () => {
  let isSick = false;
  const { agent } = setUp(() => (isSick ? refused(503, 'Busy.') : Response.json(agentView())));
  await agent.read();
  isSick = true;
  expect(await agent.read()).toMatchObject({ ok: false, refusal: { message: 'Busy.' } });
  expect(agent.last()?.kind).toBe('on');
});

test('an agent that is switched off is a state to the dashboard, which another run of the gateway may end', async () => {
  const { agent } = setUp(() => refused(409, 'Set INGLENOOK_AGENT to true.'));
  const value = { kind: 'off', message: 'Set INGLENOOK_AGENT to true.' };
  expect(await agent.read()).toEqual({ ok: true, value });
  expect(agent.last()).toEqual(value);
  agent.reconsider();
  expect(agent.last()).toBeNull();
  const { agent: other } = setUp(() => Response.json(agentView()));
  await other.read();
  other.reconsider();
  expect(other.last()?.kind).toBe('on');
});

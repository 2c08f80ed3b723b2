import { expect, test } from 'vitest';
import { hearingRegistry, startServing, until } from '../../support/agent.ts';
import { postJson } from '../../support/http.ts';
import { hang, startUpstream } from '../../support/upstream.ts';

const CHAT = '/v1/chat/completions';
const ASK = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };

const codeOf = (text: string) => (JSON.parse(text) as { error: { code: string } }).error.code;

test('an engine that hangs is checked 5 s into a request, gets no more, and the request is given up', async () => {
  const registry = hearingRegistry();
  const engine = await startUpstream(hang);
  let asked = 0;
  engine.answerGet = ({ path, res }) => {
    const data = [{ id: 'm', owned_by: 'vllm' }];
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(JSON.stringify(path === '/v1/models' ? { data } : {}));
  };
  const machine = await startServing(engine, { ownRegistry: registry });
  await until(() => registry.statuses.at(-1) === 'idle');
  machine.clock.advance(1000);
  engine.answerGet = () => void (asked += 1);
  const answer = postJson(machine.url + CHAT, ASK);
  await until(() => engine.calls.length === 1);
  machine.clock.advance(5000);
  for (let round = 1; round <= 10; round += 1) {
    await until(() => asked >= round);
    machine.clock.advance(1000);
    if (round === 3) {
      await until(() => machine.agent.view().engine?.health.status === 'unresponsive');
      machine.clock.advance(1000);
      await until(() => registry.statuses.at(-1) === 'degraded');
    }
  }
  expect(codeOf((await answer).text)).toBe('engine_unreachable');
  expect(codeOf((await postJson(machine.url + CHAT, ASK)).text)).toBe('engine_unreachable');
});

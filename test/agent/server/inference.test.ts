import { expect, test } from 'vitest';
import { hearingRegistry, startModelServer, startServing, until } from '../../support/agent.ts';
import { postJson, send } from '../../support/http.ts';
import { hang, json, startUpstream } from '../../support/upstream.ts';

test('a form is forwarded with its boundary, and JSON in its place is refused', async () => {
  const engine = await startModelServer(json(200, { text: 'a' }));
  const url = `${(await startServing(engine)).url}/v1/audio/transcriptions`;
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  const body = '--x\r\ncontent-disposition: form-data; name="model"\r\n\r\nm\r\n--x--\r\n';
  expect((await send(url, { method: 'POST', headers, body })).status).toBe(200);
  expect(engine.calls[0]?.headers['content-type']).toBe(headers['content-type']);
  expect(engine.calls[0]?.body.toString()).toBe(body);
  expect((await postJson(url, {})).status).toBe(415);
});

const CHAT = '/v1/chat/completions';
const ASK = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };

const codeOf = (text: string) => (JSON.parse(text) as { error: { code: string } }).error.code;

test('a request to a hung engine has it checked after 5 s, and then fails', async () => {
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
  const call = { isOver: false };
  const answer = postJson(machine.url + CHAT, ASK).finally(() => (call.isOver = true));
  await until(() => engine.calls.length === 1);
  machine.clock.advance(5000);
  // The check that is under way in the third round may time out before it is sent.
  for (let round = 1; round <= 10 && !call.isOver; round += 1) {
    await until(() => call.isOver || asked >= round);
    machine.clock.advance(1000);
    if (round === 3) {
      await until(() => machine.agent.view().engine?.health.status === 'unresponsive');
      machine.clock.advance(1000);
      await until(() => registry.statuses.at(-1) === 'degraded');
    }
  }
  expect(codeOf((await answer).text)).toBe('engine_unreachable');
  expect(asked).toBeGreaterThanOrEqual(9);
  expect(codeOf((await postJson(machine.url + CHAT, ASK)).text)).toBe('engine_unreachable');
});

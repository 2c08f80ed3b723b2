import { expect, test } from 'vitest';
import { createManualClock } from '../support/clock.ts';
import { startCall } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { answers, error, lists, startUpstream, type Upstream } from '../support/upstream.ts';

// What a fixed engine is, of which the form of a request to it depends.

const RESPONSE = { model: 'm', input: 'hi', stream: true };
const OWN_RESPONSES = '/v1/responses';

const ask = (url: string) => startCall(url + OWN_RESPONSES, RESPONSE).answer;
const pathsOf = ({ calls }: Upstream) => calls.map(({ path }) => path);
const CHAT = '/v1/chat/completions';

/** An engine that starts after its gateway. */
async function startLate() {
  const engine = await startUpstream(answers('hi'));
  engine.answerGet = lists({ id: 'm', owned_by: 'llamacpp' });
  await engine.close();
  const clock = createManualClock();
  const gateway = await startGateway({ LOCAL_ENGINE_URL: engine.url }, clock);
  // The request for the list failed, and is made again in 5 s.
  await clock.timer(5000, 5000);
  await engine.reopen();
  return { engine, clock, gateway };
}

test('an engine that starts after its gateway is asked what it is before the first response', async () => {
  const { engine, gateway } = await startLate();
  const both = await Promise.all([ask(gateway.url), ask(gateway.url)]);
  expect(both.map(({ status }) => status)).toEqual([200, 200]);
  expect(pathsOf(engine)).toEqual([CHAT, CHAT]);
  // Once for both, and not again.
  await ask(gateway.url);
  expect(engine.gets.filter(({ path }) => path === '/v1/models')).toHaveLength(1);
});

test('an engine that does not say what it is delays one request by a second, and no other for a while', async () => {
  const { engine, clock, gateway } = await startLate();
  engine.answerGet = () => {};
  engine.script = error(404, 'Not Found');
  const pending = ask(gateway.url);
  await engine.get(1);
  expect(engine.calls).toHaveLength(0);
  clock.advance(1000);
  await pending;
  expect(pathsOf(engine)[0]).toBe(OWN_RESPONSES);
  await ask(gateway.url);
  expect(engine.gets).toHaveLength(1);
});

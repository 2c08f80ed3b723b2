import { expect, test } from 'vitest';
import { startModelServer, startServing, until } from '../../support/agent.ts';
import { postJson } from '../../support/http.ts';
import { json } from '../../support/upstream.ts';

test('the energy of answers that an agent passes on is measured, and its heartbeats report it', async () => {
  const { promise: read, resolve: answer } = Promise.withResolvers<void>();
  const engine = await startModelServer(async (call) => {
    await read;
    return json(200, { usage: { completion_tokens: 200 } })(call);
  });
  const { agent, clock, telemetry, url } = await startServing(engine);
  telemetry.card({ powerW: 30 });
  clock.advance(5000);
  const asked = postJson(`${url}/v1/chat/completions`, { model: 'm', messages: [] });
  await engine.call(1);
  telemetry.card({ powerW: 230 });
  clock.advance(10_000);
  answer();
  expect((await asked).status).toBe(200);
  await until(() => agent.view().inFlight === 0);
  const { energy, record } = agent.view();
  expect(energy).toMatchObject({ watts: 230, idleWatts: 30, isNet: true });
  // One second of a rise by 200 W, and nine at 200 W above idle.
  expect(energy.models).toEqual([{ model: 'm', joules: 1900, tokens: 200 }]);
  expect(record.energy).toEqual({
    idle_w: 30,
    models: [{ model: 'm', joules: 1900, tokens: 200 }],
  });
});

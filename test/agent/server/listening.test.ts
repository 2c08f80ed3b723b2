import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { startAgent, startModelServer, startServing, until } from '../../support/agent.ts';
import { begin, over } from '../../support/agent-caller.ts';
import { send } from '../../support/http.ts';
import { listening } from '../../support/listening.ts';
import { chunk, stall, STOP } from '../../support/upstream.ts';

const takenPort = (): Promise<number> => listening(createServer());

test('a port that is in use is reported, and the other one serves', async () => {
  const taken = await takenPort();
  const { agent } = await startAgent({ ports: [taken, 0] });
  const { server, problems } = agent.view();
  expect(server.ports.map(({ kind }) => kind)).toEqual(['failed', 'listening']);
  expect((await send(`${server.url}/health`)).status).toBe(200);
  const port = problems.find(({ tried }) => tried.includes(String(taken)));
  expect(port?.happened).toContain('taken by another program');
  expect(port?.remedy).toContain('still serves');
});

test('a port that becomes free is used, however late, and its problem goes', async () => {
  const other = createServer();
  const taken = await listening(other);
  const { agent, clock } = await startAgent({ ports: [taken] });
  expect(agent.view().problems[0]?.remedy).toContain('tried again every few seconds');
  for (let minutes = 0; minutes < 3; minutes += 1) clock.advance(60_000);
  expect(agent.view().server.ports.map(({ kind }) => kind)).toEqual(['failed']);
  other.close();
  await once(other, 'close');
  clock.advance(await clock.timer(5000, 5000));
  await until(() => agent.view().server.ports[0]?.kind === 'listening');
  expect(agent.view().problems.filter(({ tool }) => tool === 'agent')).toEqual([]);
  expect((await send(`http://127.0.0.1:${taken}/health`)).status).toBe(200);
});

test('the ports can be replaced while a stream continues', async () => {
  const engine = await startModelServer(stall(chunk({ content: 'a' })));
  const { url, agent, set } = await startServing(engine);
  const { res } = await begin(url);
  const port = Number(new URL(url).port);
  const { ports } = agent.view().server;
  set({ ports: [port] });
  await until(() => agent.view().server.ports !== ports);
  expect(agent.view().server.ports).toEqual([{ kind: 'listening', port }]);
  expect((await send(`${url}/health`)).status).toBe(200);
  (await engine.call(1)).res.end(STOP);
  await over(res);
  expect(res.complete).toBe(true);
});

test('a stop lets a running stream finish', async () => {
  const engine = await startModelServer(stall(chunk({ content: 'a' })));
  const { url, agent } = await startServing(engine);
  const { res } = await begin(url);
  const stopped = agent.stop(30_000);
  (await engine.call(1)).res.end(STOP);
  await over(res);
  expect(res.complete).toBe(true);
  await stopped;
});

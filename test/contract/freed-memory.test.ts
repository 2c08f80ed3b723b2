import { expect, test } from 'vitest';
import { startScripted } from '../agent/memory/scripted-engines.ts';
import { type Answer, chat, startChat } from '../support/client.ts';
import { expectError } from '../support/http.ts';
import { answers, chunk, hang, stall } from '../support/upstream.ts';
import { startBefore, STREAM } from '../support/scene.ts';

/** A gateway that calls an engine of its own machine by its address, without the agent. */
async function startDirect() {
  const engine = await startScripted('ollama', ['small']);
  const urls = {
    ENGINE_URL: engine.url,
    LOCAL_ENGINE_URL: engine.url.replace('127.0.0.1', 'localhost'),
  };
  const settings = { AGENT: 'true', AGENT_PORTS: '0', ...urls };
  const { gateway } = await startBefore({ a: answers('from the hosted one') }, settings);
  const { url, post, agent } = gateway;
  await expect.poll(async () => (await agent()).engine?.kind).toBe('ollama');
  const order = (path: string, json: unknown) => post(`agent/${path}`, json);
  return { url, engine, order, view: agent };
}

test('an engine that is called by its address gets no request while its memory is freed', async () => {
  const { url, engine, order, view } = await startDirect();
  expect((await order('free', {})).status).toBe(200);
  expect([...engine.loaded]).toEqual([]);
  const { upstream, reason } = await chat(url);
  expect([upstream, reason]).toEqual(['hosted_a', 'local=paused']);
  await order('mode', { mode: 'on' });
  await expect.poll(async () => (await view()).owner.mode).toBe('on');
  expect([...engine.loaded]).toEqual(['small']);
});

test('an engine that is called by its address gets no request while its machine is held back, and pause ends those that run', async () => {
  const upstreams = {
    local: [hang, stall(chunk({ content: 'from my' })), answers('from my GPU')],
    a: answers('from the hosted one'),
  };
  const settings = { AGENT: 'true', AGENT_PORTS: '0' };
  const { gateway, local, url } = await startBefore(upstreams, settings);
  const unanswered = startChat(url);
  await local.call(1);
  const begun = startChat(url, STREAM);
  await begun.received('from my');
  const expectElsewhere = ({ upstream, reason }: Answer) =>
    expect([upstream, reason]).toEqual(['hosted_a', 'local=paused']);
  await gateway.post('agent/mode', { mode: 'drained' });
  expect((await gateway.agent()).owner.mode).toBe('draining');
  const { local: shown } = gateway.host.snapshot().judgement.conditions;
  expect(shown).toEqual({ kind: 'no-provider', cause: 'paused' });
  expectElsewhere(await chat(url));
  await gateway.post('agent/mode', { mode: 'paused' });
  expectElsewhere(await unanswered.answer);
  const told = 'The answer broke off: the owner of its machine has ended it.';
  expect((await begun.answer).text).toContain(told);
  await Promise.all([local.gone(1), local.gone(2)]);
  expectElsewhere(await chat(url));
  await gateway.post('agent/mode', { mode: 'on' });
  expect((await chat(url)).upstream).toBe('local');
  expect((await gateway.status()).circuits['local']?.consecutiveFails).toBe(0);
});

test('an order waits for a request that goes to the engine past the agent', async () => {
  const { url, engine, order, view } = await startDirect();
  const running = startChat(url);
  await engine.chatted;
  const ordered = order('models', { model: 'large', action: 'load' });
  await expect.poll(async () => (await view()).memory.state).toBe('loading');
  expect([...engine.loaded]).toEqual(['small']);
  running.leave();
  expect((await ordered).status).toBe(200);
  expect([...engine.loaded]).toEqual(['small', 'large']);
});

test('the refusal of an invalid order names the wrong field', async () => {
  const { order } = await startDirect();
  for (const [path, json, field] of [
    ['free', { minutes: 0 }, 'minutes'],
    ['free', { minutes: -1 }, 'minutes'],
    ['free', { minutes: '2h' }, 'minutes'],
    ['free', { minutes: 10_081 }, 'minutes'],
    ['models', { action: 'load' }, 'model'],
    ['models', { model: '', action: 'load' }, 'model'],
    ['models', { model: 'small' }, 'action'],
    ['models', { model: 'small', action: 'evict' }, 'action'],
  ] as const) {
    const answer = await order(path, json);
    expect(expectError(answer, 400, 'invalid_request', field)).toContain(`'${field}'`);
  }
});

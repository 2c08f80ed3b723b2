import { expect, test } from 'vitest';
import { endedInError } from '../support/protocols.ts';
import { chatStream, HELLO, startChat } from '../support/client.ts';
import { askedOf, begun, goesOn, ONE_WHOLE } from '../support/handover.ts';
import { heard } from '../support/resume.ts';
import { type Machine, MODEL, startEngine, startTier } from '../support/tier.ts';
import { cut, error, hang, startUpstream, type Script, json } from '../support/upstream.ts';
import { at } from '../support/words.ts';
import { startBefore } from '../support/scene.ts';

const SENT = 'The quick brown ';

/** Machines, and a hosted upstream that would continue their streams. */
async function startPool(...machines: readonly Machine[]) {
  const hosted = await startUpstream(goesOn('c'));
  const serves = { HOSTED_A_MODEL: MODEL, HOSTED_A_PREFILL: 'last-message' };
  const tier = await startTier(machines, { ...at({ hosted_a: hosted.url }), ...serves });
  return { hosted, tier };
}

test.each(['vllm', 'sglang', 'llamacpp'])(
  'a machine with %s continues a stream of the local pool before any paid upstream',
  async (ownedBy) => {
    const first = await startEngine('', cut(...begun('a', 3)));
    const second = await startEngine(ownedBy, goesOn('b'));
    const { hosted, tier } = await startPool(first, second);
    const answer = await chatStream(tier.url);
    expect(heard(answer.text)).toMatchObject(ONE_WHOLE);
    expect(answer.text).toContain(`: carried on by local/${second.id}\n\n`);
    expect(askedOf(await second.call(1))).toBe(SENT.trimEnd());
    expect(hosted.calls).toHaveLength(0);
    const { circuits } = await tier.status();
    expect(circuits[first.id]).toMatchObject({ fails: 1, successes: 0 });
    expect(circuits[second.id]).toMatchObject({ fails: 0, successes: 1 });
  },
);

test('a machine that refuses the caller’s own credential ends the stream, and no key of the gateway is used', async () => {
  const first = await startEngine('', cut(...begun('a', 3)));
  const second = await startEngine('vllm', error(401));
  const { hosted, tier } = await startPool(first, second);
  const { text } = await chatStream(tier.url);
  expect(endedInError(text).before).toBe(begun('a', 3).join(''));
  expect([second.calls.length, hosted.calls.length]).toEqual([1, 0]);
});

/** An engine whose stream breaks off, a hosted upstream and `ondemand`, all of which serve the same. */
async function startAll(a: Script, settings: Record<string, string> = {}) {
  const ondemand = { script: goesOn('c'), get: json(200, {}) };
  const models = { HOSTED_A_MODEL: 'same', ONDEMAND_MODEL: 'same' };
  const prefills = { HOSTED_A_PREFILL: 'last-message', ONDEMAND_PREFILL: 'last-message' };
  const scripts = { local: cut(...begun('a', 3)), a, ondemand };
  return startBefore(scripts, { ...models, ...prefills, ...settings });
}

test('the warm-up of ondemand starts as soon as local’s stream breaks off, while others are asked to continue', async () => {
  const { a, ondemand, gateway } = await startAll(hang);
  const pending = startChat(gateway.url, { ...HELLO, model: 'same', stream: true });
  expect((await ondemand.get(1)).path).toBe('/health');
  const call = await a.call(1);
  expect(ondemand.calls).toHaveLength(0);
  await goesOn('b')(call);
  expect(heard((await pending.answer).text)).toMatchObject(ONE_WHOLE);
});

test('no paid upstream is asked to continue while no money may be spent', async () => {
  const { a, ondemand, gateway } = await startAll(goesOn('b'), { FORCE_ZERO: 'true' });
  const { text } = await chatStream(gateway.url, { model: 'same' });
  expect(endedInError(text).before).toBe(begun('a', 3).join(''));
  expect([a.calls.length, ondemand.calls.length, ondemand.gets.length]).toEqual([0, 0, 0]);
});

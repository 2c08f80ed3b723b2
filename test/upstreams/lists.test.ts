import { expect, test } from 'vitest';
import { HELLO, chat } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { send } from '../support/http.ts';
import { answers, json, startUpstream } from '../support/upstream.ts';
import { at } from '../support/words.ts';
import { startBefore } from '../support/scene.ts';
import type { System } from './system.ts';
import { SYSTEMS } from './systems/all.ts';

const CASES = SYSTEMS.flatMap(({ name, place, lists }) =>
  lists === undefined ? [] : [{ name, place, ...lists }],
);

/** A gateway in front of an upstream that lists its models like this. */
async function startListing(place: System['place'], body: unknown) {
  const upstream = await startUpstream(answers('hi'));
  upstream.answerGet = json(200, body);
  const { url } = await startGateway(at({ [place]: upstream.url }));
  const list = async () => {
    const { text } = await send(`${url}/v1/models`);
    return (JSON.parse(text) as { readonly data: readonly unknown[] }).data;
  };
  return { upstream, url, list };
}

test.each(CASES)(
  'the models that $name lists are listed by the gateway',
  async ({ place, body, model }) => {
    const { list } = await startListing(place, body);
    // A hosted model goes by the name of its source too.
    const source = place === 'local' ? '' : '[^/]+/';
    const id = expect.stringMatching(new RegExp(`^${source}${String(model['id'])}$`));
    const owned = { ...model, id, owned_by: place };
    await expect
      .poll(list)
      .toEqual([expect.objectContaining({ id: 'auto' }), expect.objectContaining(owned)]);
  },
);

test('a missing list of models is not an outage, and its upstream takes any name', async () => {
  // github.com/kvcache-ai/ktransformers/issues/123
  const { url, local } = await startBefore({ local: answers('hi') });
  const answer = await chat(url, { ...HELLO, model: 'any' });
  expect(answer).toMatchObject({ status: 200, upstream: 'local', reason: 'none' });
  expect(local.calls[0]?.json['model']).toBe('any');
});

test('Docker Model Runner is sent the long model name that it lists', async () => {
  const { body } = CASES.find(({ name }) => name === 'Docker Model Runner') ?? { body: null };
  const { upstream, url, list } = await startListing('local', body);
  await expect.poll(list).toHaveLength(2);
  await chat(url, { ...HELLO, model: 'ai/m' });
  expect(upstream.calls[0]?.json['model']).toBe('docker.io/ai/m:latest');
});

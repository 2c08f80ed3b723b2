import { expect, onTestFinished, test } from 'vitest';
import { chat, startChat } from '../support/client.ts';
import { createManualClock } from '../support/clock.ts';
import { startTierScene, STREAM } from '../support/scene.ts';
import {
  type Machine,
  MODEL,
  startMachine,
  startTier,
  type Tier,
  startReporting,
} from '../support/tier.ts';
import { answers, hang } from '../support/upstream.ts';

const AUTO = { AFFINITY: 'auto' };
/** Some 2,000 tokens. */
const LONG = 'word '.repeat(1600);

/** A conversation of an app that sends all of it with each turn. */
function conversation(name: string, headers: Record<string, string> = {}) {
  const messages: { role: string; content: string }[] = [];
  return {
    messages,
    /** The next turn; gives the machine that served it. */
    async turn(tier: Pick<Tier, 'url'>, more: object = {}): Promise<string> {
      messages.push({ role: 'user', content: `${name} ${messages.length} ${LONG}` });
      const body = { model: MODEL, messages, ...more };
      const answer = await chat(tier.url, body, headers);
      expect(answer).toMatchObject({ status: 200, upstream: 'local' });
      messages.push({ role: 'assistant', content: 'yes' });
      return String(answer.headers['x-gateway-provider']);
    },
  };
}

type Talk = ReturnType<typeof conversation>;

const startThree = (settings: Readonly<Record<string, string>> = AUTO) =>
  startTierScene({ a: answers('yes'), b: answers('yes'), c: answers('yes') }, {}, settings);

test('a conversation stays with the machine of its first turn, and all machines have about as many', async () => {
  const tier = await startThree();
  const all = Array.from({ length: 9 }, (_, at) => conversation(`talk ${at}`));
  const homes: string[] = [];
  for (const each of all) homes.push(await each.turn(tier));
  expect(new Set(homes).size).toBe(3);
  for (const own of Object.values(tier.own)) expect(own.calls).toHaveLength(3);
  for (let turn = 2; turn <= 6; turn += 1)
    for (const [at, each] of all.entries()) expect(await each.turn(tier)).toBe(homes[at]);
});

test('a conversation goes by load and speed alone if affinity is off', async () => {
  const tier = await startThree({ AFFINITY: 'off' });
  // The constant chance of the tests: nothing else tells the machines apart.
  const homes = new Set<string>();
  for (let at = 0; at < 6; at += 1) homes.add(await conversation(`talk ${at}`).turn(tier));
  expect(homes.size).toBe(1);
});

test('a conversation stays at its machine when its last message is edited or it branches', async () => {
  const tier = await startThree();
  const [first, other] = [conversation('first'), conversation('other')];
  const home = await first.turn(tier);
  await other.turn(tier);
  await first.turn(tier);
  first.messages.splice(-2);
  expect(await first.turn(tier)).toBe(home);
  const branch = conversation('branch');
  branch.messages.push(...first.messages.slice(0, 2));
  expect(await branch.turn(tier)).toBe(home);
});

test('a conversation is recognised by the session that its app names even if earlier messages have changed', async () => {
  const tier = await startThree();
  const named = conversation('named', { 'x-session-id': 's1' });
  await conversation('another').turn(tier);
  const home = await named.turn(tier);
  named.messages.splice(0);
  expect(await named.turn(tier)).toBe(home);
});

test('a conversation is served by another machine when its own dies, and stays there', async () => {
  const tier = await startThree();
  const talk = conversation('talk');
  const home = await talk.turn(tier);
  await Object.values(tier.own)
    .find(({ id }) => id === home)
    ?.close();
  const next = await talk.turn(tier);
  expect(next).not.toBe(home);
  expect(await talk.turn(tier)).toBe(next);
});

/** Another request runs there, so that only a prompt in its cache leads to it. */
async function occupied(tier: Pick<Tier, 'url'>, machine: Machine, talk: Talk): Promise<void> {
  const { script } = machine;
  machine.script = hang;
  const n = machine.calls.length + 1;
  const messages = [...talk.messages, ...STREAM.messages];
  startChat(tier.url, { ...STREAM, model: MODEL, messages }).answer.catch(() => null);
  const { res } = await machine.call(n);
  onTestFinished(() => void res.destroy());
  machine.script = script;
}

const OFF = { ...AUTO, HEDGE: 'off' };

test.each<[what: string, change: object]>([
  ['whose agent has started again', { uptime_s: 1 }],
  ['whose engine was gone', { engine_health: { status: 'unreachable', code: 0 } }],
  ['that has unloaded its model', { current_model: null }],
  ['that has loaded another model', { current_model: 'another' }],
])('the cached prefixes are forgotten of a machine %s', async (_what, change) => {
  const clock = createManualClock();
  const beating = await startReporting(answers('yes'), clock);
  const other = await startMachine(answers('yes'));
  const tier = await startTier([other, beating], OFF, clock);
  const beat = (changed: object) =>
    beating.beat(tier.url, {
      models: [MODEL, 'another'],
      status: 'idle',
      uptime_s: 1000,
      engine_health: { status: 'ok', code: 0 },
      ...changed,
    });
  await beat({});
  const [first, second] = [conversation('1'), conversation('2')];
  expect(await first.turn(tier)).toBe(other.id);
  expect(await second.turn(tier)).toBe(beating.id);
  await occupied(tier, beating, second);
  expect(await second.turn(tier)).toBe(beating.id);
  await beat(change);
  await beat('uptime_s' in change ? change : {});
  expect(await second.turn(tier)).toBe(other.id);
});

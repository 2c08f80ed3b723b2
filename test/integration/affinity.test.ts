import { describe, expect, onTestFinished, test } from 'vitest';
import { createAgent, recordOf } from '../registry/world.ts';
import { chat, type Pending, startChat } from '../support/client.ts';
import { createManualClock } from '../support/clock.ts';
import { send } from '../support/http.ts';
import { startTierScene, STREAM } from '../support/scene.ts';
import {
  type Machine,
  machineAt,
  MODEL,
  startMachine,
  startTier,
  type Tier,
} from '../support/tier.ts';
import {
  answers,
  completion,
  hang,
  json,
  type Script,
  startUpstream,
} from '../support/upstream.ts';

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

/** As llama.cpp tells how much of a prompt it had. */
const reporting =
  (share: number): Script =>
  (call) => {
    const tokens = Math.round(call.body.length / 4);
    const details = { cached_tokens: Math.round(share * tokens) };
    const usage = {
      prompt_tokens: tokens,
      completion_tokens: 1,
      prompt_tokens_details: details,
    };
    return json(200, { ...completion('yes'), usage })(call);
  };

const startThree = (settings: Readonly<Record<string, string>> = AUTO) =>
  startTierScene({ a: answers('yes'), b: answers('yes'), c: answers('yes') }, {}, settings);

describe('the machine of a conversation', () => {
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

  test('a conversation goes by load and speed alone where affinity is off', async () => {
    const tier = await startThree({ AFFINITY: 'off' });
    // The constant chance of the tests: nothing else tells the machines apart.
    const homes = new Set<string>();
    for (let at = 0; at < 6; at += 1) homes.add(await conversation(`talk ${at}`).turn(tier));
    expect(homes.size).toBe(1);
  });

  test('a conversation goes on at its machine when its last message is edited or it branches', async () => {
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

  test('a conversation is recognised by the session that its app names, where earlier messages have changed', async () => {
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

  test('a conversation leaves its machine while another one is quicker, and others return to it then', async () => {
    const tier = await startTierScene(
      { a: answers('yes'), b: answers('yes') },
      {},
      { ...AUTO, HEDGE: 'off' },
    );
    const [talk, waiting] = [conversation('talk'), conversation('waiting')];
    const home = at(tier, await talk.turn(tier));
    const other = home === tier.own.a ? tier.own.b : tier.own.a;
    await conversation('elsewhere').turn(tier);
    expect(await waiting.turn(tier)).toBe(home.id);
    home.script = hang;
    const before = [home.calls.length, other.calls.length] as const;
    const question = { role: 'user', content: LONG.slice(0, LONG.length / 10) };
    const body = { ...STREAM, model: MODEL, messages: [...talk.messages, question] };
    const long: Pending[] = [];
    for (;;) {
      long.push(startChat(tier.url, body));
      const asked = await Promise.race([
        home.call(before[0] + long.length).then(() => home),
        other.call(before[1] + 1).then(() => other),
      ]);
      if (asked === other) break;
    }
    // Seven reads of a tenth, and what each answer takes beside, take as long as one read of all of it.
    expect(long.length).toBeGreaterThan(5);
    expect(long.length).toBeLessThan(10);
    for (const call of home.calls.slice(before[0])) await answers('yes')(call);
    await Promise.all(long.map(({ answer }) => answer));
    home.script = answers('yes');
    expect(await waiting.turn(tier)).toBe(home.id);
  });
});

const at = <Own extends string>({ own }: { readonly own: Record<Own, Machine> }, id: string) =>
  Object.values<Machine>(own).find((machine) => machine.id === id) ?? raise(id);

function raise(id: string): never {
  throw new Error(`no machine ${id}`);
}

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

describe('cached prefixes', () => {
  const OFF = { ...AUTO, HEDGE: 'off' };

  test('a cached prefix is no longer expected once the machine reports that it is gone', async () => {
    const tier = await startTierScene({ a: answers('yes'), b: answers('yes') }, {}, OFF);
    const { a, b } = tier.own;
    const [first, older, lost] = [conversation('1'), conversation('2'), conversation('3')];
    expect(await first.turn(tier)).toBe(a.id);
    expect(await older.turn(tier)).toBe(b.id);
    await occupied(tier, a, first);
    tier.clock.advance(1000);
    expect(await lost.turn(tier)).toBe(b.id);
    await occupied(tier, b, lost);
    for (const cached of [0.5, 0]) {
      tier.clock.advance(1000);
      b.script = reporting(cached);
      expect(await lost.turn(tier)).toBe(b.id);
    }
    expect(await older.turn(tier)).toBe(a.id);
  });

  test.each<[what: string, change: object]>([
    ['whose agent has started again', { uptime_s: 1 }],
    ['whose engine was gone', { engine_health: { status: 'unreachable', code: 0 } }],
    ['that has unloaded its model', { current_model: null }],
    ['that has loaded another model', { current_model: 'another' }],
  ])('the cached prefixes are forgotten of a machine %s', async (_what, change) => {
    const clock = createManualClock();
    const agent = createAgent(clock);
    const beating = machineAt(await startUpstream(answers('yes')));
    const { id, publicKey } = agent;
    const stored = { ...beating.stored, id, publicKey, sequence: 0, lastHeartbeatIp: '127.0.0.1' };
    const other = await startMachine(answers('yes'));
    const tier = await startTier([other, { stored }], OFF, clock);
    const usual = {
      ...recordOf(),
      ...beating.stored.record,
      models: [MODEL, 'another'],
      status: 'idle',
      uptime_s: 1000,
      engine_health: { status: 'ok', code: 0 },
    };
    const beat = async (record: object) => {
      const { path, headers, body } = agent.heartbeat(record);
      const type = { 'content-type': 'application/json' };
      const sent = { method: 'POST', headers: { ...type, ...headers }, body: body.toString() };
      expect((await send(tier.url + path, sent)).status).toBe(200);
    };
    await beat(usual);
    const [first, second] = [conversation('1'), conversation('2')];
    expect(await first.turn(tier)).toBe(other.id);
    expect(await second.turn(tier)).toBe(id);
    await occupied(tier, beating, second);
    expect(await second.turn(tier)).toBe(id);
    await beat({ ...usual, ...change });
    await beat({ ...usual, ...('uptime_s' in change ? change : {}) });
    expect(await second.turn(tier)).toBe(other.id);
  });
});

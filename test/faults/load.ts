import { CHAT } from '../support/client.ts';
import { type HttpAnswer, postJson } from '../support/http.ts';
import { post } from '../support/registry-load.ts';
import type { PoolGateway } from './gateways.ts';
import { answerOf, askForRun, askForToken, codeOf, type PoolLedger, remove } from './ledger.ts';
import type { FaultMachine } from './machines.ts';

/** What is known of a gateway besides itself. */
export interface Watched {
  readonly gateway: PoolGateway;
  /** Rises with each beginning and end of a time in which it need not acknowledge anything. */
  troubles: number;
  /** Whether that is now. */
  isTroubled: boolean;
  /** Whether it has served a caller since it was started, and so has to serve all others. */
  hasServed: boolean;
}

/** How much was asked for, and answered well. */
export interface LoadCounts {
  heartbeats: number;
  acknowledged: number;
  chats: number;
  served: number;
  enrolled: number;
  removed: number;
}

/** Agents, callers and owners that never rest, between `go` and `rest`. */
export interface PoolLoad {
  readonly counts: LoadCounts;
  /** What was not answered as it must be. */
  readonly findings: string[];
  go(): void;
  /** Resolves once nothing is on its way. */
  rest(): Promise<void>;
}

interface LoadDeps {
  readonly machines: readonly FaultMachine[];
  readonly ledger: PoolLedger;
  /** In [0, 1). */
  readonly random: () => number;
  /** Whether this machine had no time for anybody a moment ago: a slow database counts as one that is gone. */
  readonly wasStarved: () => boolean;
  /** The pause of each caller between two requests, so that the load is not what is measured. */
  readonly breathMs: number;
}

const HEARTBEAT_LANES = 4;
/** One of its own each time: the turns of one conversation would all go to one machine. */
const newConversation = (id: number) => ({ messages: [{ role: 'user', content: `hi ${id}` }] });

export function createLoad(
  watched: readonly Watched[],
  { machines, ledger, random, wasStarved, breathMs }: LoadDeps,
): PoolLoad {
  const counts = { heartbeats: 0, acknowledged: 0, chats: 0, served: 0, enrolled: 0, removed: 0 };
  const findings: string[] = [];
  /** A machine has one request on its way at a time, or its sequence would come out of order. */
  const busy = new Set<FaultMachine>();
  const now = { isOn: false };
  let lanes: Promise<unknown> = Promise.resolve();

  const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(random() * list.length)];

  async function withMachine(work: (machine: FaultMachine) => Promise<void>): Promise<void> {
    const machine = pick(machines.filter((each) => !busy.has(each)));
    if (machine === undefined) return;
    busy.add(machine);
    try {
      await work(machine);
    } finally {
      busy.delete(machine);
    }
  }

  /** Asks a gateway; the answer, or null where it may refuse. What it must not answer is a finding. */
  async function asked(
    at: Watched,
    what: string,
    sending: () => Promise<HttpAnswer>,
  ): Promise<HttpAnswer | null> {
    const { troubles, isTroubled } = at;
    const { runs, pid, url } = at.gateway;
    const answer = await answerOf(sending());
    if (answer !== null && answer.status < 300) return answer;
    const isExcused = isTroubled || at.isTroubled || troubles !== at.troubles;
    // The one picked a moment ago may have been killed since, and not serve yet.
    const wasAway =
      pid === null || url === '' || at.gateway.pid !== pid || at.gateway.runs !== runs;
    const isUnwritten = answer !== null && codeOf(answer) === 'registry_unwritten';
    if (answer === null ? wasAway : isUnwritten && (isExcused || wasStarved())) return null;
    findings.push(`${what} at ${at.gateway.name}: ${answer === null ? 'no answer' : answer.text}`);
    return null;
  }

  const isStaying = (machine: FaultMachine) => machines.indexOf(machine) < machines.length / 2;

  const live = () => watched.filter(({ gateway }) => gateway.pid !== null && gateway.url !== '');

  async function beat(machine: FaultMachine): Promise<void> {
    const at = pick(live());
    const known = ledger.joined.get(machine);
    if (at === undefined) return;
    if (known === undefined) return enrol(machine);
    const message = known.agent.heartbeat(machine.record());
    counts.heartbeats += 1;
    const answer = await asked(at, 'heartbeat', () => post(at.gateway, message));
    if (answer === null) return;
    counts.acknowledged += 1;
    known.beats += 1;
    known.last = message;
  }

  async function enrol(machine: FaultMachine): Promise<void> {
    const [giver, taker] = [pick(live()), pick(live())];
    if (giver === undefined || taker === undefined) return;
    const given = await asked(giver, 'enrolment token', () => askForToken(giver.gateway));
    if (given === null) return;
    const { token } = JSON.parse(given.text) as { token: string };
    const { agent } = machine;
    const known = ledger.joined.get(machine);
    const answer = await asked(taker, 'enrolment', () => post(taker.gateway, agent.enroll(token)));
    // Without an answer nobody knows whether it was taken, and the next one replaces it.
    if (answer === null) return;
    counts.enrolled += 1;
    const joined = JSON.parse(answer.text) as { gateway_token: string };
    machine.ids.set(joined.gateway_token, agent.id);
    ledger.used.push(token);
    ledger.removed.delete(agent.id);
    ledger.joined.set(machine, known ?? { agent, beats: 0, last: null });
  }

  /** The first machines stay, so that callers can always be served. */
  async function change(machine: FaultMachine): Promise<void> {
    if (isStaying(machine)) return;
    const at = pick(live());
    const known = ledger.joined.get(machine);
    if (at === undefined || known === undefined) return;
    if (random() < 0.4) return enrol(machine);
    ledger.joined.delete(machine);
    const answer = await asked(at, 'removal', () => remove(at.gateway, known.agent.id));
    if (answer !== null) {
      counts.removed += 1;
      ledger.removed.add(known.agent.id);
    }
    if (answer === null || random() < 0.5) machine.renew();
  }

  /** Asked for at two gateways at the same moment. */
  async function verify(): Promise<void> {
    const known = pick([...ledger.joined.values()]);
    if (known === undefined) return;
    const pair = [pick(live()), pick(live())].flatMap((at) => at ?? []);
    await Promise.all(pair.map(({ gateway }) => answerOf(askForRun(gateway, known.agent.id))));
  }

  async function chat(at: Watched): Promise<void> {
    if (at.gateway.pid === null || at.gateway.url === '') return;
    const { runs, pid } = at.gateway;
    const mustServe = at.hasServed;
    counts.chats += 1;
    const answer = await answerOf(postJson(at.gateway.url + CHAT, newConversation(counts.chats)));
    if (answer?.status === 200) {
      counts.served += 1;
      // Another machine may be removed before one of these is verified.
      const isLasting = machines.some(
        (machine) =>
          isStaying(machine) && machine.agent.id === answer.headers['x-gateway-provider'],
      );
      if (isLasting && at.gateway.runs === runs) at.hasServed = true;
    } else if (mustServe && at.gateway.pid === pid && at.gateway.runs === runs)
      findings.push(`a caller of ${at.gateway.name}: ${answer?.text ?? 'no answer'}`);
  }

  async function lane(step: () => Promise<void>, everyMs: number): Promise<void> {
    while (now.isOn) {
      await step();
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  }

  return {
    counts,
    findings,
    go() {
      now.isOn = true;
      lanes = Promise.all([
        ...Array.from({ length: HEARTBEAT_LANES }, () => lane(() => withMachine(beat), breathMs)),
        ...watched.map((at) => lane(() => chat(at), breathMs)),
        lane(() => withMachine(change), 10 * breathMs),
        lane(verify, 10 * breathMs),
      ]);
    },
    async rest() {
      now.isOn = false;
      await lanes;
    },
  };
}

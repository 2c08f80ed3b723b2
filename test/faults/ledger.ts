import type { TestAgent } from '../registry/world.ts';
import { bearer, type HttpAnswer, postJson, send } from '../support/http.ts';
import { post, shown, type Registry } from '../support/registry-load.ts';
import type { PoolGateway } from './gateways.ts';
import type { FaultMachine } from './machines.ts';

type Signed = ReturnType<TestAgent['heartbeat']>;

/** What the pool has acknowledged of a machine that has joined. */
export interface Joined {
  readonly agent: TestAgent;
  /** Heartbeats that were acknowledged. */
  beats: number;
  /** The last of them. */
  last: Signed | null;
}

/** What the pool has acknowledged, at any gateway. */
export interface PoolLedger {
  /** By the machine; one whose enrolment or removal got no answer is in none of these. */
  readonly joined: Map<FaultMachine, Joined>;
  /** Ids whose removal was acknowledged, until they join again. */
  readonly removed: Set<string>;
  /** Tokens with which an enrolment was acknowledged, the last ones. */
  readonly used: string[];
}

export const newLedger = (): PoolLedger => ({ joined: new Map(), removed: new Set(), used: [] });

/** Null where no answer came. */
export async function answerOf(sending: Promise<HttpAnswer>): Promise<HttpAnswer | null> {
  try {
    return await sending;
  } catch {
    return null;
  }
}

export const codeOf = ({ text }: HttpAnswer): string =>
  /"code": ?"([a-z_]+)"/.exec(text)?.[1] ?? text.slice(0, 100);

export const askForToken = ({ url, controlToken }: Registry) =>
  postJson(`${url}/api/v1/providers/enrollments`, {}, bearer(controlToken));

export const remove = ({ url, controlToken }: Registry, id: string) =>
  send(`${url}/api/v1/providers/${id}`, { method: 'DELETE', headers: bearer(controlToken) });

export const askForHistory = ({ url, controlToken }: Registry, id: string) =>
  send(`${url}/api/v1/providers/${id}/history`, { headers: bearer(controlToken) });

export const askForRun = ({ url, controlToken }: Registry, id: string) =>
  postJson(`${url}/api/v1/providers/${id}/verify`, {}, bearer(controlToken));

/** How long the gateways may take to know the same, on a machine that is busy. */
const AGREE_MS = 30_000;
const LOOK_MS = 150;

/** What a gateway that should know of everything acknowledged does not; empty where all is well. */
export async function differences(
  gateways: readonly PoolGateway[],
  { joined, removed, used }: PoolLedger,
): Promise<readonly string[]> {
  const found = await Promise.all(
    [...joined.values()].map((each) => differencesOf(each, gateways)),
  );
  const removals = [...removed].map(async (id) => {
    const views = await agreed(gateways, id, (all) => all.every((view) => view === 'null'));
    return views === null ? [] : [`${id} was removed, and is there: ${views}`];
  });
  const [stranger] = [...joined.values()];
  const tokens = used.splice(0).map(async (token) => {
    if (stranger === undefined) return [];
    const [code] = await codesOf(gateways.slice(0, 1), stranger.agent.enroll(token));
    return code === 'invalid_token' ? [] : [`a token again: ${code}`];
  });
  return [...found, ...(await Promise.all(removals)), ...(await Promise.all(tokens))].flat();
}

async function differencesOf(
  { agent, beats, last }: Joined,
  gateways: readonly PoolGateway[],
): Promise<readonly string[]> {
  const isKnown = (views: readonly string[]) =>
    new Set(views).size === 1 && Number(/^\d+/.exec(views[0] ?? '')?.[0] ?? -1) >= beats;
  const views = beats === 0 ? null : await agreed(gateways, agent.id, isKnown);
  if (views !== null) return [`${agent.id}: ${beats} heartbeats acknowledged, seen ${views}`];
  if (last === null) return [];
  const codes = await codesOf(gateways, last);
  return codes.flatMap((code, at) =>
    code === 'sequence_reused' ? [] : [`a replay at ${gateways[at]?.name}: ${code}`],
  );
}

/** What each gateway says to a message, once it has its database. */
function codesOf(gateways: readonly PoolGateway[], message: Signed): Promise<readonly string[]> {
  const endAt = performance.now() + AGREE_MS;
  const codeAt = async (gateway: PoolGateway): Promise<string> => {
    const answer = await answerOf(post(gateway, message));
    const code = answer === null ? 'no answer' : codeOf(answer);
    if (code !== 'registry_unwritten' || performance.now() > endAt) return code;
    return codeAt(gateway);
  };
  return Promise.all(gateways.map(codeAt));
}

/** Null once `isWell` holds for how the gateways see a machine; else how they see it in the end. */
async function agreed(
  gateways: readonly PoolGateway[],
  id: string,
  isWell: (views: readonly string[]) => boolean,
): Promise<string | null> {
  const endAt = performance.now() + AGREE_MS;
  for (;;) {
    const views = await Promise.all(gateways.map((gateway) => viewOf(gateway, id)));
    if (isWell(views)) return null;
    if (performance.now() > endAt) return views.join(' | ');
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

async function viewOf(gateway: PoolGateway, id: string): Promise<string> {
  try {
    const provider = await shown(gateway, id);
    if (provider === null) return 'null';
    const { heartbeat_count: beats, verification, status, requests_served: told } = provider;
    return `${beats} ${verification.status} ${status} ${told}`;
  } catch {
    return 'no answer';
  }
}

/**
 * Conversations over machines with real llama.cpp engines: how often a turn finds its cache, beside the same gateway
 * without affinity, and beside what is possible, with each conversation at one engine and no gateway.
 */
import { randomInt } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Agent, fetch } from 'undici';
import { readControlToken } from '../main/platform/secrets.ts';
import { llamaServer } from '../test/engine/find-server.ts';
import { writeModel } from '../test/engine/model.ts';
import { WORDS } from '../test/engine/words.ts';
import { saying, terminate, type Child, type Children } from './kit/children.ts';
import { pathWithGpu } from './kit/gpu-tools.ts';
import { quantile } from './kit/numbers.ts';
import { startGateway } from './kit/programs.ts';
import { bound, short, whole, type Bound, type Report } from './report.ts';

const CONVERSATIONS = 20;
const TURNS = 6;
/** Words, of which each is a token. */
const FIRST_WORDS = 2000;
const MORE_WORDS = 150;
const ANSWER_TOKENS = 8;
const MODEL = 'bench-model';
/** Of the last prompt, from the cache; engines read the last tokens again. */
const FOUND_SHARE = 0.9;
const JOIN_MS = 60_000;

/**
 * An engine on a busy machine may read a prompt for longer than the usual limit of five minutes, and llama.cpp closes an
 * idle connection after five seconds, which must not meet the next turn.
 */
const PATIENT = new Agent({ headersTimeout: 0, bodyTimeout: 0, pipelining: 0 });

/** One turn of a conversation, as its answer told it. */
interface Turn {
  readonly turn: number;
  readonly tokens: number;
  readonly cached: number;
  /** Of the turn before; 0 for the first. */
  readonly tokensBefore: number;
  readonly ttftMs: number;
  /** The machine. */
  readonly by: string;
}

/** Answers the turn of a conversation. */
type Ask = (conversation: number, messages: readonly Message[]) => Promise<Answer>;

interface Message {
  readonly role: string;
  readonly content: string;
}

interface Answer extends Omit<Turn, 'turn' | 'tokensBefore'> {
  readonly text: string;
}

/** Runs it, with two and with three machines unless `only` says how many. */
export async function conversations(
  children: Children,
  directory: string,
  only: string,
  say: (text: string) => void,
): Promise<Report> {
  const server = llamaServer();
  if (server === null)
    throw new Error('needs a llama-server, on the path or as INGLENOOK_TEST_LLAMA_SERVER says');
  const model = join(directory, 'model.gguf');
  await writeModel(model, { cycle: WORDS, trims: false });
  const rows: string[][] = [];
  const bounds: Bound[] = [];
  for (const machines of only === '' ? [2, 3] : [Number(only)]) {
    const engines = await Promise.all(
      Array.from({ length: machines }, () => startEngine(children, server, model)),
    );
    const set = { children, directory, engines };
    for (const inFlight of [1, 2]) {
      say(`${machines} machines, ${inFlight} in flight`);
      const ideal = await play(direct(engines), inFlight);
      const off = await through(set, 'off', inFlight);
      const auto = await through(set, 'auto', inFlight);
      const what = `${machines} machines, ${inFlight} in flight`;
      rows.push(
        rowOf(what, 'ideal', ideal, machines),
        rowOf('', 'affinity off', off, machines),
        rowOf('', 'affinity auto', auto, machines),
      );
      for (const row of rows.slice(-3)) say(row.join('  '));
      bounds.push(...boundsOf(what, figuresOf(auto, machines), figuresOf(ideal, machines)));
    }
    for (const { child } of engines) await terminate(child);
  }
  return {
    intro: `${CONVERSATIONS} conversations of ${TURNS} turns, interleaved; prompts of ${FIRST_WORDS} to ${FIRST_WORDS + (TURNS - 1) * MORE_WORDS} tokens. Figures are of turns 2 to ${TURNS}.`,
    tables: [[COLUMNS, ...rows]],
    notes: ['Engines and gateway share the cores, so times are those of a busy machine.'],
    bounds,
  };
}

interface Engine {
  readonly child: Child;
  readonly url: string;
}

async function startEngine(children: Children, server: string, model: string): Promise<Engine> {
  const settings = ['-m', model, '--alias', MODEL, '-t', '1', '-c', '8192', '-np', '2', '--jinja'];
  const at = ['--host', '127.0.0.1', '--port', '0'];
  const child = children.start('any', [server, ...settings, ...at]);
  const port = await saying(child, /listening on http:\/\/127\.0\.0\.1:(\d+)/);
  const url = `http://127.0.0.1:${port}`;
  // It listens before its model is loaded.
  while ((await fetch(`${url}/health`)).status !== 200) await pause(50);
  return { child, url };
}

interface Machines {
  readonly children: Children;
  readonly directory: string;
  readonly engines: readonly Engine[];
}

/** Plays it through a new gateway that these engines have joined. */
async function through(
  { children, directory, engines }: Machines,
  affinity: 'off' | 'auto',
  inFlight: number,
): Promise<readonly Turn[]> {
  const folder = (name: string) => mkdtempSync(join(directory, `${name}-`));
  const gateway = await startGateway(children, folder('gateway'), {
    INGLENOOK_AFFINITY: affinity,
    // Engines that share two cores are all slow at times.
    INGLENOOK_HEDGE: 'off',
    INGLENOOK_TTFT_THRESHOLD_MS: '60000',
  });
  const url = `http://127.0.0.1:${gateway.port}`;
  const control = {
    authorization: `Bearer ${readControlToken(gateway.dataDirectory) ?? ''}`,
    'content-type': 'application/json',
  };
  const agents: Child[] = [];
  // Ports of agents are fixed, so each has an address of its own.
  const network = `127.${randomInt(2, 250)}.${randomInt(2, 250)}`;
  for (const [index, engine] of engines.entries()) {
    const enrolling = await fetch(`${url}/api/v1/providers/enrollments`, {
      method: 'POST',
      headers: control,
      body: '{}',
    });
    const { token } = (await enrolling.json()) as { readonly token: string };
    const agent = await startGateway(children, folder('agent'), {
      PATH: pathWithGpu(join(directory, 'tools')),
      INGLENOOK_AGENT: 'true',
      INGLENOOK_AGENT_HOST: `${network}.${index + 2}`,
      INGLENOOK_ENGINE_URL: engine.url,
      INGLENOOK_REGISTRY_URL: url,
      INGLENOOK_ENROLL_TOKEN: token,
    });
    agents.push(agent.child);
  }
  await untilVerified(url, control, engines.length);
  const turns = await play((_conversation, messages) => ask(url, messages), inFlight);
  for (const child of [...agents, gateway.child]) await terminate(child);
  return turns;
}

async function untilVerified(
  url: string,
  headers: Readonly<Record<string, string>>,
  count: number,
): Promise<void> {
  const end = performance.now() + JOIN_MS;
  for (;;) {
    const list = (await (await fetch(`${url}/api/v1/providers`, { headers })).json()) as {
      readonly verified: number;
    };
    if (list.verified === count) return;
    if (performance.now() > end) throw new Error(`${list.verified} of ${count} machines verified`);
    await pause(100);
  }
}

/** Each conversation at an engine of its own. */
const direct =
  (engines: readonly Engine[]): Ask =>
  async (conversation, messages) => {
    const at = conversation % engines.length;
    return { ...(await ask(engines[at]?.url ?? '', messages)), by: String(at) };
  };

async function ask(url: string, messages: readonly Message[]): Promise<Answer> {
  const begun = performance.now();
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    dispatcher: PATIENT,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: MODEL,
      messages,
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: ANSWER_TOKENS,
      temperature: 0,
    }),
  });
  if (response.status !== 200 || response.body === null)
    throw new Error(`answered ${response.status}: ${await response.text()}`);
  let ttftMs = Number.NaN;
  let events = '';
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    events += piece;
    if (Number.isNaN(ttftMs) && /"content":"[^"]/.test(events)) ttftMs = performance.now() - begun;
  }
  const chunks = [...events.matchAll(/^data: (\{.*)$/gm)].map(
    ([, json = '']) => JSON.parse(json) as Chunk,
  );
  const usage = chunks.findLast((chunk) => chunk.usage?.prompt_tokens !== undefined)?.usage;
  return {
    text: chunks.map(({ choices }) => choices?.[0]?.delta?.content ?? '').join(''),
    tokens: usage?.prompt_tokens ?? Number.NaN,
    cached: usage?.prompt_tokens_details?.cached_tokens ?? Number.NaN,
    ttftMs,
    by: response.headers.get('x-gateway-provider') ?? '',
  };
}

interface Chunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
  readonly usage?: {
    readonly prompt_tokens?: number;
    readonly prompt_tokens_details?: { readonly cached_tokens?: number };
  } | null;
}

/** Turn by turn, all conversations in each, so many at a time; no two runs have a prompt in common. */
async function play(askFor: Ask, inFlight: number): Promise<readonly Turn[]> {
  const words = (count: number) =>
    Array.from({ length: count }, () => WORDS[randomInt(WORDS.length)] ?? '').join('');
  const talks = Array.from({ length: CONVERSATIONS }, (_, at) => ({
    at,
    messages: [] as Message[],
    last: Promise.resolve(0),
  }));
  const turns: Turn[] = [];
  const queue = Array.from({ length: TURNS }, (_, turn) => talks.map((talk) => ({ turn, talk })));
  const waiting = queue.flat().values();
  async function work(): Promise<void> {
    for (const { turn, talk } of waiting) {
      const before = talk.last;
      const done = Promise.withResolvers<number>();
      talk.last = done.promise;
      const tokensBefore = await before;
      const content = words(turn === 0 ? FIRST_WORDS : MORE_WORDS);
      talk.messages.push({ role: 'user', content });
      const { text, ...answer } = await askFor(talk.at, talk.messages);
      talk.messages.push({ role: 'assistant', content: text });
      turns.push({ turn, tokensBefore, ...answer });
      done.resolve(answer.tokens);
    }
  }
  await Promise.all(Array.from({ length: inFlight }, work));
  return turns;
}

interface Figures {
  readonly foundPercent: number;
  readonly tokensRead: number;
  /** Of the busiest machine, in equal shares. */
  readonly share: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
}

function figuresOf(all: readonly Turn[], machines: number): Figures {
  const turns = all.filter(({ turn }) => turn > 0);
  const found = turns.filter(({ cached, tokensBefore }) => cached >= FOUND_SHARE * tokensBefore);
  const counts = new Map<string, number>();
  for (const { by } of turns) counts.set(by, (counts.get(by) ?? 0) + 1);
  const times = turns.map(({ ttftMs }) => ttftMs);
  return {
    foundPercent: (100 * found.length) / turns.length,
    tokensRead: turns.reduce((sum, { tokens, cached }) => sum + tokens - cached, 0),
    share: (Math.max(...counts.values()) / turns.length) * machines,
    p50Ms: quantile(times, 0.5),
    p95Ms: quantile(times, 0.95),
  };
}

const COLUMNS = ['', 'way', 'cache found', 'tokens read', 'busiest', 'TTFT p50 ms', 'p95 ms'];

function rowOf(what: string, way: string, turns: readonly Turn[], machines: number): string[] {
  const { foundPercent, tokensRead, share, p50Ms, p95Ms } = figuresOf(turns, machines);
  return [
    what,
    way,
    `${whole(foundPercent)} %`,
    whole(tokensRead),
    `${short(share)} ×`,
    whole(p50Ms),
    whole(p95Ms),
  ];
}

function boundsOf(what: string, auto: Figures, ideal: Figures): Bound[] {
  return [
    bound(`${what}: turns without their cache`, ' %', 100 - auto.foundPercent, 5),
    bound(`${what}: tokens read to the ideal`, '×', auto.tokensRead / ideal.tokensRead, 1.1),
    bound(`${what}: the busiest machine's share to an equal one`, '×', auto.share, 2),
  ];
}

import type { Json } from '../chaos/events.ts';
import { type Answer, startCall } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { startUpstream, type Upstream, type UpstreamCall } from '../support/upstream.ts';
import { at } from '../support/words.ts';
import { createMessages } from './anthropic.ts';
import { type Asked, type Caller, createCaller, type OpenCall, type Result } from './callers.ts';
import { createEngine } from './engines.ts';
import { createOpenAiChat, createResponses } from './openai.ts';
import {
  type Answered,
  type Dialect,
  type Paired,
  pairsIn,
  type Saying,
  stringsIn,
} from './saying.ts';
import { LAST, type Place, PLACES, type Story, type Turn } from './stories.ts';

/** What a turn came to. */
export interface Played {
  readonly status: number;
  /** The caller's words where it got no answer. */
  readonly words: string;
  readonly upstream: string;
  /** The first that is up. */
  readonly expected: Place;
  /** Rules that were broken on the way, by who minds them. */
  readonly refusals: readonly string[];
  /** Those of them that the gateway should have known before. */
  readonly needless: readonly string[];
  /** What had been said or shown before, and did not come along. */
  readonly lost: readonly string[];
  readonly pairs: readonly Paired[];
  readonly given: readonly Paired[];
}

export type Cast = Readonly<Record<Place, Upstream>>;

/** Starts the upstreams once for all stories. */
export async function startCast(): Promise<Cast> {
  const started = PLACES.map(async (place) => [place, await startUpstream()]);
  return Object.fromEntries(await Promise.all(started)) as Cast;
}

/** What a host may say once: nobody knows it before, as others take it. All else is against a protocol. */
const LEARNT: ReadonlySet<string> = new Set([
  'local/chat/completions: type of part',
  'local/chat/completions: notes',
  'hosted_a/messages: pattern of ids',
  'hosted_a/messages: ids said twice',
  'hosted_a/messages: thinking expected',
  'hosted_b/responses: length of ids',
  'hosted_b/responses: lone thought',
  'hosted_b/responses: foreign id',
  'hosted_b/responses: extra',
  'hosted_a/chat/completions: length of ids',
  'hosted_b/chat/completions: length of ids',
  'hosted_a/chat/completions: type of part',
  'hosted_b/chat/completions: type of part',
  'hosted_a/chat/completions: no calls',
  'hosted_b/chat/completions: no calls',
  'hosted_a/chat/completions: null',
  'hosted_b/chat/completions: null',
  'hosted_c/chat/completions: type of part',
  'hosted_c/chat/completions: thoughts',
  'hosted_c/chat/completions: extra',
  'hosted_c/chat/completions: ids',
  'hosted_c/chat/completions: order of user',
  'hosted_c/chat/completions: order of system',
  'hosted_c/chat/completions: notes',
  'hosted_c/chat/completions: empty',
]);

/** It is about the end of this conversation, and comes again. */
const OF_ONE_REQUEST: ReadonlySet<string> = new Set([
  'hosted_a/messages: thinking expected',
  'hosted_b/responses: lone thought',
  'hosted_b/responses: foreign id',
  'hosted_b/responses: extra',
]);

/** What stands in one turn. */
interface Scene {
  readonly turn: Turn;
  readonly saying: Saying;
  readonly refusals: string[];
  accepted: Accepted | null;
}

interface Accepted {
  /** Place and path. */
  readonly by: string;
  readonly body: Json;
  readonly answered: Answered;
}

/** What has come to pass in a conversation. */
interface Past {
  /** Texts and pictures. */
  readonly said: string[];
  readonly given: Paired[];
  /** What only one host can read, and where it came from. */
  readonly seals: Map<string, string>;
  readonly learnt: Set<string>;
  /** Calls that wait for their results. */
  open: readonly OpenCall[];
}

/** Plays one in a gateway of its own. */
export async function play(story: Story, cast: Cast): Promise<readonly Played[]> {
  const dialects = dialectsOf(story);
  let scene: Scene | null = null;
  for (const place of PLACES) {
    cast[place].calls.length = 0;
    cast[place].script = (call) => {
      if (scene !== null) act(call, place, dialects[place], scene);
    };
  }
  const gateway = await startGateway({ ...settingsOf(story), ...at(urlsOf(cast)) });
  const caller = createCaller(story.protocol, story.isStored);
  const past: Past = { said: [], given: [], seals: new Map(), learnt: new Set(), open: [] };
  const played: Played[] = [];
  for (const [index, turn] of story.turns.entries()) {
    speak(caller, past, turn, askedIn(turn, index));
    scene = { turn, saying: marked(turn.saying, index), refusals: [], accepted: null };
    const { stream, thinking } = turn;
    const body = caller.body({ stream, thinking });
    const answer = await startCall(gateway.url + caller.path, body).answer;
    played.push(judged(scene, past, caller, answer));
    if (answer.status !== 200 || scene.accepted === null) return played;
    past.open = caller.hear(answer.text, stream);
    remember(past, scene.accepted, scene.refusals);
  }
  return played;
}

/** The caller's part of a turn. */
function speak(caller: Caller, past: Past, turn: Turn, asked: Asked): void {
  const { said, given, open } = past;
  if (open.length === 0) {
    const note = `Note: ${asked.text}`;
    if (turn.isNoted) {
      caller.note(note);
      said.push(note);
    }
    caller.ask(asked);
    said.push(...textsOf(asked));
    return;
  }
  const results = resultsOf(open, turn, caller.showsResults);
  for (const { about, text } of results) given.push({ about, result: [text] });
  caller.give(results, turn.isAlso ? asked : null);
  said.push(...results.flatMap(textsOf), ...(turn.isAlso ? textsOf(asked) : []));
}

function judged({ turn, refusals, accepted }: Scene, past: Past, caller: Caller, answer: Answer) {
  const { status, text, upstream } = answer;
  const expected = PLACES.find((place) => turn.weather[place] === 'up') ?? 'local';
  const told = {
    status,
    words: status === 200 ? '' : text,
    upstream,
    expected,
    refusals,
    needless: refusals.filter((rule) => !LEARNT.has(rule) || past.learnt.has(rule)),
    given: [...past.given],
  };
  if (accepted === null) return { ...told, lost: past.said, pairs: [] };
  const heard = stringsIn(accepted.body);
  // Where an engine's own items are in the history, ids are of no use.
  const byId = refusals.some((rule) => /: (foreign id|extra)$/.test(rule));
  const seals = stringsIn(caller.history).filter(
    (each) => past.seals.get(each) === accepted.by && !(byId && each.startsWith('rs_')),
  );
  return {
    ...told,
    lost: [...lostIn(heard, past.said), ...seals.filter((seal) => !heard.includes(seal))],
    pairs: shortened(pairsIn(accepted.body), past.given),
  };
}

function remember(past: Past, { answered, by }: Accepted, refusals: readonly string[]): void {
  for (const rule of refusals) if (!OF_ONE_REQUEST.has(rule)) past.learnt.add(rule);
  for (const seal of answered.seals) past.seals.set(seal, by);
  const { text, asks } = answered.said;
  past.said.push(...(text === '' ? [] : [text]), ...asks);
}

function act(call: UpstreamCall, place: Place, dialects: readonly Dialect[], scene: Scene): void {
  const { res, socket } = call;
  const answer = (status: number, body: object) => {
    res.writeHead(status, { 'content-type': 'application/json' });
    res.end(JSON.stringify(body));
  };
  const { turn } = scene;
  if (turn.weather[place] === 'reset') return void socket.destroy();
  if (turn.weather[place] === '503') return answer(503, { error: { message: 'down' } });
  const dialect = dialects.find(({ path }) => call.path.endsWith(path));
  if (dialect === undefined) return answer(404, { error: { message: 'Not Found' } });
  const by = place + dialect.path;
  const refused = dialect.refusal(call.json);
  if (refused !== null) {
    scene.refusals.push(`${by}: ${refused.rule}`);
    return answer(refused.status, refused.body);
  }
  const answered = dialect.answer(scene.saying, call.json);
  scene.accepted = { by, body: call.json, answered };
  if (call.json['stream'] !== true) return answer(200, answered.whole);
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of answered.events) res.write(eventText(event));
  res.end(dialect.path === '/chat/completions' ? 'data: [DONE]\n\n' : '');
}

function eventText(event: object): string {
  const name = 'type' in event ? `event: ${String(event.type)}\n` : '';
  return `${name}data: ${JSON.stringify(event)}\n\n`;
}

const dialectsOf = ({
  callIds,
  last,
  loop,
}: Story): Readonly<Record<Place, readonly Dialect[]>> => ({
  local: [createEngine(callIds)],
  hosted_a: [createMessages(loop), createOpenAiChat()],
  hosted_b: [createResponses(), createOpenAiChat()],
  hosted_c: [LAST[last]()],
});

const urlsOf = (cast: Cast) =>
  Object.fromEntries(PLACES.map((place) => [place, `${cast[place].url}/v1`]));

function settingsOf({ assembles }: Story): Readonly<Record<string, string>> {
  const each = ['HOSTED_A', 'HOSTED_B', 'HOSTED_C'].map((name) => [
    `${name}_ASSEMBLE`,
    String(assembles),
  ]);
  return {
    ...(Object.fromEntries(each) as Record<string, string>),
    HEDGE: 'off',
    HEALTH_CHECKS: 'false',
    // Every turn is to meet its own weather.
    FAIL_THRESHOLD: '1000000',
    TTFT_SLOW_THRESHOLD: '1000000',
  };
}

const askedIn = ({ text, hasPicture }: Turn, index: number): Asked => ({
  text: `${text} [asked ${index}]`,
  picture: hasPicture ? pictureOf(`asked ${index}`) : null,
});

const pictureOf = (mark: string): string => Buffer.from(`a picture, ${mark}`).toString('base64');

/** Every text is told apart from every other. */
function marked(saying: Saying, index: number): Saying {
  const mark = (text: string, what: string) => (text === '' ? '' : `${text} [${what} ${index}]`);
  return {
    ...saying,
    thought: mark(saying.thought, 'thought'),
    text: mark(saying.text, 'said'),
    asks: saying.asks.map((about, n) => mark(about, `call ${n} of`)),
  };
}

function resultsOf(open: readonly OpenCall[], turn: Turn, mayShow: boolean): readonly Result[] {
  const results = open.map(({ id, about }, n) => ({
    id,
    about,
    text: `found: ${about}`,
    picture: mayShow && turn.resultPictures[n] === true ? pictureOf(about) : null,
  }));
  return turn.isReversed ? results.toReversed() : results;
}

const textsOf = ({ text, picture }: Asked): readonly string[] => [
  text,
  ...(picture === null ? [] : [picture]),
];

/** Texts stand alone, within a longer one, or within JSON. */
function lostIn(heard: readonly string[], said: readonly string[]): readonly string[] {
  const all = heard.join('\n');
  return said.filter((text) => !all.includes(text) && !all.includes(JSON.stringify(text)));
}

/** Of each result the text alone, if it is the one that was given. */
function shortened(pairs: readonly Paired[], given: readonly Paired[]): readonly Paired[] {
  return pairs.map(({ about, result }, n) => {
    const text = given[n]?.result[0] ?? '';
    return { about, result: result.join('\n').includes(text) ? [text] : result };
  });
}

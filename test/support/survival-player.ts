import { askedOf } from './handover.ts';
import { cut } from './pieces.ts';
import { chunkOf, piecesOf } from './resume.ts';
import { THOUGHT, TRUTH, type Actor, type StreamPart } from './survival-parts.ts';
import { completion, json, type Script, type UpstreamCall } from './upstream.ts';

/** What an upstream has sent for one call, in whole events. */
export interface Said {
  /** Its id, or that of the machine in the local pool. */
  readonly upstream: string;
  readonly call: UpstreamCall;
  /** The partial answer that it was sent; null: none. */
  readonly asked: string | null;
  /** The whole text, with the partial answer. */
  readonly content: string;
  readonly reasoning: string;
  /** Anything at all, be it an echo. */
  readonly hasSpoken: boolean;
  readonly hasCalledTool: boolean;
  /** Its finish reason has come. */
  readonly isFinished: boolean;
  /** It then reported an error. */
  readonly hasFailed: boolean;
}

/** Where what was said is kept, and how many upstreams are at it. */
export interface Play {
  readonly said: Said[];
  busy: number;
}

const ERROR = 'data: {"error":{"message":"out of memory"}}\n\n';
const TOOL = { index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };
/** Shorter echoes are left out: the gateway cannot tell them from a token that occurs twice. */
const MIN_ECHO_CHARS = 16;

/** Plays an upstream. */
export function playing(id: string, actor: Actor, play: Play): Script {
  return async (call) => {
    play.busy += 1;
    await act(id, actor, call, play.said);
    play.busy -= 1;
  };
}

async function act(
  upstream: string,
  { part, takesPrefill }: Actor,
  call: UpstreamCall,
  said: Said[],
): Promise<void> {
  const asked = askedOf(call);
  if (asked !== null && !takesPrefill) return json(400, { error: { message: 'no prefill' } })(call);
  switch (part.kind) {
    case 'hang':
      return;
    case 'reset':
      call.socket.destroy();
      return;
    case 'status':
      return json(part.status, { error: { message: 'no' } })(call);
    case 'json': {
      const content = (asked ?? '') + ownText(upstream, part.differsAt).slice(asked?.length);
      const base = {
        upstream,
        call,
        asked,
        content,
        reasoning: '',
        hasCalledTool: false,
        hasSpoken: true,
      };
      said.push({ ...base, isFinished: true, hasFailed: false });
      return json(200, { ...completion(content.slice(asked?.length)), id: upstream })(call);
    }
    case 'stream': {
      const isLong = asked !== null && asked.length >= MIN_ECHO_CHARS;
      const echo = part.echoes && isLong ? asked : '';
      await tell({ upstream, part, call, asked, echo }, said);
    }
  }
}

interface Telling {
  readonly upstream: string;
  readonly part: StreamPart;
  readonly call: UpstreamCall;
  readonly asked: string | null;
  readonly echo: string;
}

async function tell(telling: Telling, said: Said[]): Promise<void> {
  const { part, call } = telling;
  const events = eventsOf(telling);
  const isWhole = part.end === 'whole';
  const count = isWhole ? events.length : Math.floor(part.comes * (events.length - 1));
  said.push(saidIn(telling, events.slice(0, count)));
  const next = events[count]?.bytes ?? '';
  const half = part.half && part.end !== 'error' ? next.slice(0, next.length / 2) : '';
  const text = events.slice(0, count).map(({ bytes }) => bytes);
  const bytes = Buffer.from(text.join('') + half + (part.end === 'error' ? ERROR : ''));
  const { res, socket } = call;
  res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  const places = part.pieces.map((place) => Math.floor(place * bytes.length));
  for (const piece of cut(bytes, places)) {
    if (piece.length > 0) res.write(piece);
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (part.end === 'cut') socket.destroy();
  else if (part.end === 'whole' || part.end === 'clean end') res.end();
}

/** An event and what it adds to the answer. */
interface Telt {
  readonly bytes: string;
  readonly content?: string;
  readonly reasoning?: string;
  readonly isSpoken?: boolean;
  readonly isTool?: boolean;
  readonly isFinish?: boolean;
}

function eventsOf({ upstream, part, asked, echo }: Telling): Telt[] {
  const own = ownText(upstream, part.differsAt).slice((asked ?? '').length);
  const first = part.role === 'with text' ? { role: 'assistant' } : {};
  const of = (delta: Record<string, unknown>, finish: string | null = null) =>
    chunkOf(upstream, delta, finish);
  const role = part.role === 'alone' ? [{ bytes: of({ role: 'assistant', content: '' }) }] : [];
  const thought = part.thinks
    ? [{ bytes: of({ ...first, reasoning_content: THOUGHT }), reasoning: THOUGHT }]
    : [];
  const said = [
    ...(echo === '' ? [] : [{ piece: echo, content: '' }]),
    ...piecesOf(own, part.deltas).map((piece) => ({ piece, content: piece })),
  ];
  const text = said.map(({ piece, content }, index) => {
    const head = index === 0 && !part.thinks ? first : {};
    return { bytes: of({ ...head, content: piece }), content, isSpoken: piece !== '' };
  });
  const tool = part.callsTool ? [{ bytes: of({ tool_calls: [TOOL] }), isTool: true }] : [];
  return [
    ...role,
    ...thought,
    ...text,
    ...tool,
    { bytes: of({}, part.callsTool ? 'tool_calls' : 'stop'), isFinish: true },
    { bytes: 'data: [DONE]\n\n' },
  ];
}

function saidIn({ upstream, part, call, asked }: Telling, events: readonly Telt[]): Said {
  const joined = (field: 'content' | 'reasoning') =>
    events.map((event) => event[field] ?? '').join('');
  return {
    upstream,
    call,
    asked,
    content: (asked ?? '') + joined('content'),
    reasoning: joined('reasoning'),
    hasSpoken: events.some(({ isSpoken }) => isSpoken === true),
    hasCalledTool: events.some(({ isTool }) => isTool === true),
    isFinished: events.some(({ isFinish }) => isFinish === true),
    hasFailed: part.end === 'error',
  };
}

function ownText(upstream: string, differsAt: number | null): string {
  if (differsAt === null) return TRUTH;
  return `${TRUTH.slice(0, differsAt)}§${upstream} has another answer to that.`;
}

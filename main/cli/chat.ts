import type { IncomingHttpHeaders } from 'node:http';
import { text as textFrom } from 'node:stream/consumers';
import { namesMachine, withMachineNames, distinctNames } from '#shared/machine-names.ts';
import type { ProviderList } from '#shared/provider.ts';
import type { ProviderNotes } from '#shared/provider-notes.ts';
import { visible } from '#shared/visible.ts';
import { createFramer, dataOf, eventsOf } from '../gateway/protocols/sse.ts';
import { messageOf } from '../platform/errors.ts';
import { memberOf, parseJson } from '../platform/json.ts';
import { answer, type CommandOutcome, EXIT, failed, type Input } from './command.ts';
import {
  askThen,
  findRunning,
  notRunning,
  type Running,
  sendProved,
  type Sent,
  strangerAt,
  callRunning,
} from './running-app.ts';
import { paintError, printError, withProgress } from './terminal.ts';

/** Sends one message; the answer goes to standard output as it arrives, its route to standard error. */
export async function chat(input: Input): Promise<CommandOutcome> {
  const { dataDirectory, options, words } = input;
  const message = await textOf(words);
  if (message.trim() === '') return failed(NO_MESSAGE, EXIT.usage);
  const running = await findRunning(dataDirectory);
  if (running === null) return notRunning(dataDirectory);
  const model = typeof options['model'] === 'string' ? options['model'] : null;
  const asJson = options['json'] === true;
  const result = await streamChat(running, bodyOf(message, model), (piece) => {
    if (!asJson) process.stdout.write(process.stdout.isTTY ? withoutControls(piece) : piece);
  });
  if (result.kind === 'unreached') return failed(result.why);
  const { route, text, error } = result;
  const said = `${routeText(route)} ${error ?? ''}`;
  const names = namesMachine(said) ? await machineNames(running) : NO_NAMES;
  if (asJson && error === null) {
    const machine = route.provider === null ? null : (names.get(route.provider) ?? null);
    return answer({ text, ...route, machine }, '');
  }
  if (!asJson) {
    if (text !== '' && !text.endsWith('\n')) process.stdout.write('\n');
    printError(paintError('dim', withMachineNames(routeText(route), names)));
  }
  return error === null
    ? { kind: 'printed', exitCode: EXIT.done }
    : failed(withMachineNames(error, names));
}

const NO_NAMES: ReadonlyMap<string, string> = new Map();

const NO_MESSAGE =
  '"chat" needs a message, as in: inglenook chat "Why is the sky blue?" It can also come from standard input.';

async function textOf(words: readonly string[]): Promise<string> {
  if (words.length > 0) return words.join(' ');
  return process.stdin.isTTY ? '' : textFrom(process.stdin);
}

function bodyOf(content: string, model: string | null): string {
  const messages = [{ role: 'user', content }];
  return JSON.stringify({ ...(model === null ? {} : { model }), messages, stream: true });
}

interface ChatRoute {
  readonly upstream: string;
  readonly provider: string | null;
  readonly fallbackReason: string;
  readonly requestId: string | null;
  readonly model: string | null;
  /** Null if no content arrived. */
  readonly firstContentMs: number | null;
  readonly totalMs: number;
}

type ChatResult =
  | {
      readonly kind: 'answered';
      readonly text: string;
      readonly route: ChatRoute;
      /** Null for a complete answer. */
      readonly error: string | null;
    }
  | { readonly kind: 'unreached'; readonly why: string };

async function streamChat(
  running: Running,
  body: string,
  onText: (piece: string) => void,
): Promise<ChatResult> {
  const startedAt = performance.now();
  const sinceMs = () => Math.round(performance.now() - startedAt);
  const sent = await withProgress(
    'Waiting for the first token',
    sendProved(running, { method: 'POST', path: '/v1/chat/completions', body, timeoutMs: null }),
  );
  if (sent.kind !== 'answered') return { kind: 'unreached', why: whyUnreached(sent, running) };
  const { response } = sent;
  const { statusCode = 0 } = response;
  try {
    const headers = routeHeaders(response.headers);
    const answered =
      statusCode < 300
        ? await readStream(response, onText, sinceMs)
        : {
            ...NOTHING,
            error: errorOf(parseJson(await textFrom(response))) ?? `HTTP ${statusCode}`,
          };
    const { text, error, model, firstContentMs } = answered;
    const route = { ...headers, model, firstContentMs, totalMs: sinceMs() };
    return { kind: 'answered', text, error, route };
  } catch (error) {
    return { kind: 'unreached', why: didNotAnswer(error) };
  }
}

function whyUnreached(sent: Exclude<Sent, { readonly kind: 'answered' }>, { url }: Running) {
  return sent.kind === 'stranger' ? strangerAt(url) : didNotAnswer(sent.error);
}

const didNotAnswer = (error: unknown) => `The gateway did not answer: ${messageOf(error)}.`;

function routeHeaders(headers: IncomingHttpHeaders) {
  const valueOf = (name: string) => stringOf(headers[name]);
  return {
    upstream: valueOf('x-gateway-upstream') ?? 'none',
    provider: valueOf('x-gateway-provider'),
    fallbackReason: valueOf('x-gateway-fallback-reason') ?? 'none',
    requestId: valueOf('x-gateway-request-id'),
  };
}

interface StreamState {
  text: string;
  error: string | null;
  model: string | null;
  firstContentMs: number | null;
}

const NOTHING: Readonly<StreamState> = { text: '', error: null, model: null, firstContentMs: null };

async function readStream(
  response: AsyncIterable<Buffer>,
  onText: (piece: string) => void,
  sinceMs: () => number,
): Promise<StreamState> {
  const framer = createFramer();
  const state: StreamState = { ...NOTHING, error: 'The answer was cut off.' };
  for await (const chunk of response) {
    const frames = framer.push(chunk);
    for (const event of frames === null ? [] : eventsOf(frames)) {
      const data = dataOf(event);
      if (data === '[DONE]') state.error = null;
      if (data === null || data === '[DONE]') continue;
      const value = parseJson(data);
      state.error = errorOf(value) ?? state.error;
      state.model ??= stringOf(memberOf(value, 'model'));
      const piece = memberOf(listFirst(memberOf(value, 'choices')), 'delta', 'content');
      if (typeof piece !== 'string' || piece === '') continue;
      onText(piece);
      state.text += piece;
      state.firstContentMs ??= sinceMs();
    }
  }
  return state;
}

const listFirst = (list: unknown): unknown => (Array.isArray(list) ? (list as unknown[])[0] : null);
/** Text from elsewhere, with hidden characters made visible. */
const stringOf = (value: unknown) => (typeof value === 'string' ? visible(value) : null);
const errorOf = (value: unknown) => stringOf(memberOf(value, 'error', 'message'));

/** A model's text must not move the cursor or change the terminal. */
const withoutControls = (text: string) => text.replaceAll(/[^\P{Cc}\n\t]/gu, '');

function routeText(route: ChatRoute): string {
  const { upstream, provider, fallbackReason, requestId, model, firstContentMs, totalMs } = route;
  const parts = [
    provider === null ? upstream : `${upstream} on ${provider}`,
    ...(model === null ? [] : [model]),
    ...(firstContentMs === null ? [] : [`began after ${firstContentMs} ms`]),
    `${totalMs} ms in total`,
    ...(fallbackReason === 'none' ? [] : [`skipped or failed: ${fallbackReason}`]),
    ...(requestId === null ? [] : [requestId]),
  ];
  return `[${parts.join(' | ')}]`;
}

interface ModelList {
  readonly data: readonly { readonly id: string; readonly owned_by: string }[];
}

/** The models that apps can ask for, each with the upstream that has it. */
export function models({ dataDirectory }: Input): Promise<CommandOutcome> {
  return askThen(dataDirectory, { method: 'GET', path: 'models' }, (list: ModelList) => {
    const width = Math.max(0, ...list.data.map(({ id }) => id.length));
    const lines = list.data.map(({ id, owned_by: owner }) => `${id.padEnd(width)}  ${owner}`);
    return answer(list, lines.length === 0 ? NONE : lines.join('\n'));
  });
}

const NONE = 'No upstream offers a model now. "inglenook status" says why.';

/** Enough for a home and an office; the machines beyond are called by their ids. */
const MAX_MACHINES = 1000;
/** A name is worth no longer wait. */
const NAMES_TIMEOUT_MS = 2000;

/** The names of the gateway's machines by their ids, two of one name told apart; those that have none are left out. */
async function machineNames(running: Running): Promise<ReadonlyMap<string, string>> {
  const call = { method: 'GET', timeoutMs: NAMES_TIMEOUT_MS } as const;
  const [list, own] = await Promise.all([
    callRunning<ProviderList>(running, { ...call, path: `providers?limit=${MAX_MACHINES}` }),
    callRunning<ProviderNotes>(running, { ...call, path: 'providers/notes' }),
  ]);
  const notes = own.body?.notes ?? {};
  const named = (list.body?.data ?? []).flatMap(({ id, host }) => {
    const name = notes[id]?.name || host.hostname.trim();
    return name ? [[id, name] as const] : [];
  });
  return distinctNames(Object.fromEntries(named));
}

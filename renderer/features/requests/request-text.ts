import { assertNever } from '#shared/assert.ts';
import { parseFallbackReason } from '#shared/reasons.ts';
import type { RequestRow } from '#shared/live.ts';
import type { Tone } from '../../text/en/states.ts';
import { formatDuration } from '../../text/format.ts';
import { predicateText } from '../../text/reason-text.ts';
import * as t from '../../text/t.ts';
import { type Labels, nameOf, placeName } from './attempt-names.ts';
import { gaveContent, tokensPerSecond } from './attempt-text.ts';
import { briefStoryOf } from './request-story.ts';
import { silentMsOf } from './waterfall-model.ts';

type OutcomeWords = Readonly<{ tone: Tone; word: string }>;

const { outcome, who } = t.requests;

export function outcomeWords(row: RequestRow, elapsedMs: number): OutcomeWords {
  switch (row.state) {
    case 'running':
      return runningWords(row, elapsedMs);
    case 'done':
      return { tone: 'green', word: outcome.done };
    case 'failed':
      return { tone: 'red', word: outcome.failed(row.status) };
    case 'broken':
      return { tone: 'red', word: outcome.dropped };
    case 'cancelled':
      return { tone: 'grey', word: outcome.cancelled };
    default:
      return assertNever(row.state, 'request state');
  }
}

function runningWords({ attempts }: RequestRow, elapsedMs: number): OutcomeWords {
  const silentMs = Math.max(0, ...attempts.map((attempt) => silentMsOf(attempt, elapsedMs)));
  if (silentMs > 0) return { tone: 'amber', word: outcome.silent(formatDuration(silentMs)) };
  const isAnswering = attempts.some(
    ({ firstContentMs, endMs }) => firstContentMs !== null && endMs === null,
  );
  if (isAnswering) return { tone: 'green', word: outcome.answering };
  const isBroken = attempts.some(({ cause }) => cause === 'resume');
  return { tone: 'grey', word: isBroken ? outcome.switching : outcome.waiting };
}

/** The upstreams that gave the answer or are being called; `No upstream` if none answered. */
export function whoOf(row: RequestRow, labels: Labels, naming = nameOf): string {
  const { attempts, upstream, state } = row;
  const name = (attempt: (typeof attempts)[number]) => naming(attempt, row, labels);
  const givers = attempts.filter((attempt) => gaveContent(attempt, row));
  if (givers.length > 0) return who.inTurn(givers.map(name));
  if (upstream !== null) return labels.get(upstream) ?? upstream;
  if (state !== 'running') return who.none;
  const asked = attempts.filter(({ endMs }) => endMs === null);
  const named = asked.length > 0 ? asked : attempts.slice(-1);
  return named.length > 0 ? who.atOnce(named.map(name)) : who.choosing;
}

/**
 * The story if calls ran concurrently or an answer was resumed, otherwise why earlier attempts did not answer; null if
 * the first one answered.
 */
export function whyOf(row: RequestRow, labels: Labels): string | null {
  if (row.attempts.some(({ cause }) => cause !== 'turn')) return briefStoryOf(row, labels);
  const left: { readonly names: string[]; readonly why: string }[] = [];
  for (const { upstream, provider, reason } of parseFallbackReason(row.fallbackReason)) {
    if (reason === 'not_configured') continue;
    const name = placeName(upstream, provider, labels);
    const why = predicateText(reason);
    const last = left.at(-1);
    if (last?.why === why && t.requests.isOfSeveral(why)) last.names.push(name);
    else left.push({ names: [name], why });
  }
  return left.length === 0
    ? null
    : t.requests.whyPassed(left.map(({ names, why }) => t.requests.passed(names, why)));
}

/** Tokens of the answer and their rate; estimated as one per event until they are counted. */
export function amountOf(row: RequestRow): string {
  const { events, stream, state, tokens, attempts } = row;
  const giver = attempts.findLast((attempt) => gaveContent(attempt, row));
  const perSecond = giver === undefined ? null : tokensPerSecond(giver);
  const rate = perSecond === null ? [] : [t.usage.rate(perSecond)];
  if (tokens !== null && tokens.output > 0) {
    return [t.requests.tokens(tokens.output, tokens.estimated), ...rate].join(' · ');
  }
  if (events > 0) return t.requests.tokens(events, true);
  return !stream && state === 'done' ? t.requests.notStreamed : '';
}

/** What was asked for, and by whom: the model that answered if the app named none. */
export function whatOf(row: RequestRow): { readonly model: string; readonly app: string | null } {
  const asked = row.attempts.findLast((attempt) => gaveContent(attempt, row));
  const model = row.model ?? asked?.model ?? row.attempts.at(-1)?.model ?? t.requests.noModel;
  return { model, app: row.key ?? appName(row) };
}

/** Products of a user agent that name a platform or an engine, not who calls. */
const BROWSER = /^Mozilla\//;

/**
 * The app that sent a request, as its user agent names it: `OpenAI/Python 1.40.0` is "OpenAI Python", `curl/8.5.0`
 * "curl". Null if it did not say.
 */
export function appName({ caller }: Pick<RequestRow, 'caller'>): string | null {
  const agent = caller.userAgent?.trim() ?? '';
  if (agent === '') return null;
  if (BROWSER.test(agent)) return t.requests.browser;
  // A version begins with a digit or a `v`; what stands before the first of them is the name.
  const [product = agent] = agent.split(/[/ ]+v?\d/, 1);
  const name = product.replaceAll('/', ' ').replace(/\s*\(.*$/, '');
  return name.trim() || agent;
}

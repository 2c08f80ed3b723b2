import { parseFallbackReason } from '#shared/fallback-reason.ts';
import { formatDuration } from '../../text/format.ts';
import { reasonText } from '../../text/reason-text.ts';
import type { Labels } from '../requests/attempt-names.ts';
import type { Turn } from './conversation.ts';
import { t } from '../../text/t.ts';

/** An answer shorter than this has no meaningful rate. */
const MIN_RATE_MS = 50;

/** The route that a turn took: `Hosted A, after Local unreachable`. Null before it is known. */
export function routeText({ route }: Pick<Turn, 'route'>, labels: Labels): string | null {
  if (route === null) return null;
  const name = (id: string): string => labels.get(id) ?? id;
  const passed = parseFallbackReason(route.fallbackReason)
    .filter(({ reason }) => reason !== 'not_configured')
    .map(({ upstream, reason }) => t.chat.passed(name(upstream), reasonText(reason)));
  const served = route.upstream === null ? t.chat.noUpstream : name(route.upstream);
  return passed.length === 0 ? served : t.chat.route(served, passed);
}

/** Model, tokens, speed and time to first token, as far as known. */
export function turnFacts(turn: Turn): readonly string[] {
  const { model, usage, pieces, firstAt, endedAt, askedAt } = turn;
  const tokens =
    usage === null
      ? pieces === 0
        ? []
        : [t.chat.aboutTokens(pieces)]
      : [t.usage.tokens({ input: usage.prompt, output: usage.completion })];
  const first = firstAt === null ? [] : [t.chat.firstToken(formatDuration(firstAt - askedAt))];
  return [...(model === null ? [] : [model]), ...tokens, ...rateOf(turn, endedAt), ...first];
}

/** Tokens per second from the first to the last; the wait for the first is shown separately. */
function rateOf({ firstAt, usage, pieces }: Turn, endedAt: number | null): readonly string[] {
  if (firstAt === null || endedAt === null || endedAt - firstAt < MIN_RATE_MS) return [];
  const count = (usage?.completion ?? pieces) - 1;
  if (count < 1) return [];
  return [t.usage.rate((1000 * count) / (endedAt - firstAt))];
}

import type { ReactNode } from 'react';
import { assertNever } from '#shared/assert.ts';
import { type Condition, isArrival, isLasting, type Pause } from '#shared/condition.ts';
import type { UpstreamTally } from '#shared/live.ts';
import type { WarmupState } from '#shared/status.ts';
import { hashOf } from '../../route.ts';
import { FAILURES, RETRIES } from '../../text/en/nouns.ts';
import type { StateText, Tone } from '../../text/en/states.ts';
import {
  counted,
  formatCompact,
  formatCount,
  formatCountdown,
  formatDuration,
} from '../../text/format.ts';
import { reasonText } from '../../text/reason-text.ts';
import * as t from '../../text/t.ts';
import { Fact, StateWord } from '../../ui/facts.tsx';
import { useWindow } from '../../window-context.ts';
import type { Flow, UpstreamView } from './upstream-list.ts';

interface UpstreamCardProps {
  readonly upstream: UpstreamView;
  readonly children: ReactNode;
}

const words = t.overview.track;

export function UpstreamCard({ upstream, children }: UpstreamCardProps) {
  const { outcomes, providers: machines } = useWindow().data;
  const { report, condition, flow, inFlight } = upstream;
  const { tone, word, means, detail } = upstreamWords(upstream);
  const missing = condition.kind === 'missing';
  const tally = outcomes.upstreams[report.id];
  const { ewmaTtft } = report.circuit;
  // The machines behind `local`, if it has no engine address.
  const isPool = report.id === 'local' && report.baseUrl === null && machines.count > 0;
  return (
    <li
      className="upstream-card"
      data-tone={tone}
      data-flow={flow}
      data-missing={missing || undefined}
      data-off={condition.kind === 'zero-spend' || undefined}
    >
      <div className="track">
        <span className="segment" data-live={flow !== 'none' || undefined} />
        <Breaker condition={condition} flow={flow} />
        <span className="segment" data-live={flow === 'round' || flow === 'through' || undefined} />
      </div>
      <h3 className="two-lines" tabIndex={-1} title={report.label}>
        {report.label}
      </h3>
      <div>
        <p className="model one-line" title={report.model}>
          {missing ? '' : modelText(upstream, isPool)}
        </p>
        {isPool && !missing && (
          <p className="machines">
            <a href={hashOf({ page: 'providers', filter: 'all' })}>{words.machines(machines)}</a>
            <span>{words.capacity(machines)}</span>
          </p>
        )}
      </div>
      <p className="state">
        <StateWord {...{ word, means }} />
        <span className="state-detail">
          {detail ?? (inFlight > 0 && `${formatCount(inFlight)} running`)}
        </span>
      </p>
      {missing ? (
        <p className="figures">
          <a
            className="button"
            href={hashOf({ page: 'settings', section: report.id, field: 'apiKey' })}
          >
            Enter its key
          </a>
        </p>
      ) : (
        <dl className="figures">
          {ewmaTtft !== null && <Fact label="starts in" value={formatDuration(ewmaTtft)} />}
          {tally.asked > 0 && <Fact label="answered" value={<Answered {...tally} />} />}
        </dl>
      )}
      {children}
    </li>
  );
}

/** What it is set to answer with; machines have models of their own, and no engine in use has none. */
export const modelText = ({ report, condition }: UpstreamView, isPool: boolean): string =>
  report.model || (isPool || condition.kind === 'no-provider' ? '' : 'the model asked for');

function Answered({ asked, answered, retries }: UpstreamTally) {
  return (
    <>
      {`${formatCompact(answered)} of ${formatCompact(asked)}`}
      {retries > 0 && <span className="figure-note"> + {counted(retries, RETRIES)}</span>}
    </>
  );
}

interface UpstreamWords extends StateText {
  readonly tone: Tone;
  readonly detail: string | null;
}

const { states, stateDetails: details } = t;

export function upstreamWords(upstream: UpstreamView): UpstreamWords {
  const { waits } = upstream;
  const state = stateWords(upstream);
  if (waits === null) return state;
  const detail = details.waiting(waits.count, formatCountdown(waits.oldestMs));
  return { ...state, tone: state.tone === 'red' ? 'red' : 'amber', detail };
}

function stateWords({ condition, flow }: UpstreamView): UpstreamWords {
  switch (condition.kind) {
    case 'missing':
      return say('grey', condition.wants === 'key' ? states.needsKey : states.missing);
    case 'no-provider':
      return say(isArrival(condition.cause) ? 'blue' : 'grey', states[condition.cause]);
    case 'zero-spend':
      return say('grey', UNPAID[condition.by], details.paid);
    case 'skipped':
      return skipWords(condition.reason, condition.remainingMs);
    case 'cooling':
      return say(
        'amber',
        pauseState(condition),
        details.retryIn(formatCountdown(condition.remainingMs)),
      );
    case 'probe':
      return condition.isRunning
        ? say('amber', states.retrying)
        : say('amber', states.nextRetry, details.nextRetry);
    case 'failing':
      return say('red', states.failing, details.skippedAfter(condition.limit - condition.fails));
    case 'on-demand':
      return warmupWords(condition, flow === 'ends');
    case 'down':
      return say(
        'red',
        { ...states.down, word: reasonText(condition.reason) },
        condition.by === 'check' ? details.seenByCheck : null,
      );
    case 'untested':
      return say('grey', states.untested, details.notCalled);
    case 'closed':
      return closedWords(condition.isUnused, flow === 'ends');
    default:
      return assertNever(condition, 'condition');
  }
}

const UNPAID = { switch: states.off, budget: states.noBudget };

const pauseState = ({ cause, times }: Pause): StateText => ({
  ...states.skipped,
  word: cause === 'slow' ? 'paused: too slow' : `paused after ${counted(times, FAILURES)}`,
});

function closedWords(isUnused: boolean, serving: boolean): UpstreamWords {
  const detail = isUnused ? details.answeredCheck : null;
  return serving ? say('green', states.serving, detail) : say('grey', states.standby, detail);
}

function skipWords(reason: string, remainingMs: number): UpstreamWords {
  const left = formatCountdown(remainingMs);
  const kind = reason === 'budget' ? states.budget : states.excluded;
  const state = { ...kind, word: reasonText(reason) };
  return isLasting(reason)
    ? say('red', state, details.retryIn(left))
    : say('amber', state, details.backIn(left));
}

type OnDemand = Extract<UpstreamView['condition'], { kind: 'on-demand' }>;

function warmupWords({ warmup, startMs, usualMs }: OnDemand, serving: boolean): UpstreamWords {
  switch (warmup) {
    case 'ready':
      return serving ? say('green', states.serving) : say('blue', states.warm);
    case 'warming': {
      const usual = usualMs === null ? null : formatCountdown(usualMs);
      const start = startMs === null ? null : details.starting(formatCountdown(startMs), usual);
      return say('blue', states.warming, start);
    }
    case 'failed':
      return say('red', states.warmupFailed);
    case 'idle':
      return serving ? say('blue', states.next, details.off) : say('blue', states.cold);
    default:
      return assertNever(warmup, 'warm-up state');
  }
}

const say = (tone: Tone, state: StateText, detail: string | null = null): UpstreamWords => ({
  tone,
  ...state,
  detail,
});

interface BreakerProps {
  readonly condition: Condition;
  readonly flow: Flow;
}

const RADIUS = 18;
const ROUND = 2 * Math.PI * RADIUS;

function Breaker({ condition, flow }: BreakerProps) {
  return (
    <svg className="breaker" data-kind={condition.kind} viewBox="0 0 72 72" aria-hidden="true">
      <path className="rail-piece" data-live={flow !== 'none' || undefined} d="M0 36H18" />
      <path
        className="rail-piece"
        data-live={flow === 'round' || flow === 'through' || undefined}
        d="M54 36H72"
      />
      {flow === 'round' && (
        <path className="bypass" d="M3 36C13 36 12 8 25 8H47C60 8 59 36 69 36" />
      )}
      <circle className="breaker-body" cx="36" cy="36" r={RADIUS} />
      {condition.kind === 'cooling' && (
        <circle
          className="cooldown-ring"
          cx="36"
          cy="36"
          r={RADIUS}
          transform="rotate(-90 36 36)"
          strokeDasharray={`${(condition.share * ROUND).toFixed(1)} ${ROUND.toFixed(1)}`}
        />
      )}
      <Contact condition={condition} flow={flow} />
    </svg>
  );
}

/** Inside the ring: a bar (closed), a raised lever (open), a cross (excluded) or nothing. */
function Contact({ condition, flow }: BreakerProps) {
  const { kind } = condition;
  if (kind === 'cooling' || kind === 'probe') {
    return (
      <>
        <path className="contact" d={kind === 'cooling' ? 'M27 39L41 27' : 'M27 38L43 32'} />
        <circle className="contact-dot" cx="45" cy="39" r="2.2" />
      </>
    );
  }
  if (kind === 'missing') {
    return (
      <path className="rail-piece" data-live={flow === 'through' || undefined} d="M18 36H54" />
    );
  }
  if (kind !== 'on-demand') return <path className="contact" d={CONTACTS[kind]} />;
  const { warmup } = condition;
  return <path className="contact" data-warmup={warmup} d={WARMUP_CONTACTS[warmup]} />;
}

const BAR = 'M26 36H46';
const CROSS = 'M30 30L42 42M42 30L30 42';

const CONTACTS = {
  closed: BAR,
  failing: 'M26 36H32L35 30L38 42L41 36H46',
  skipped: CROSS,
  down: CROSS,
  // Rails with a gap in the middle: whether they connect is unknown.
  untested: 'M25 36H31M35 36H37M41 36H47',
  // Removed: two rail ends with nothing between them.
  'zero-spend': 'M24.5 36H29M43 36H47.5M36 29V43',
  'no-provider': 'M28.5 43.5L43.5 28.5',
};

const WARMUP_CONTACTS: Readonly<Record<WarmupState, string>> = {
  ready: BAR,
  warming: 'M30 43q3-3.5 0-7t0-7M36 43q3-3.5 0-7t0-7M42 43q3-3.5 0-7t0-7',
  failed: CROSS,
  // A snowflake: available after a cold start.
  idle: 'M36 27V45M28.2 31.5L43.8 40.5M28.2 40.5L43.8 31.5',
};

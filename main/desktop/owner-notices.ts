import type * as Electron from 'electron';
import { troubleIn } from '#shared/condition.ts';
import { clause } from '#shared/services.ts';
import type { UpstreamReport } from '#shared/status.ts';
import { WARNED_SHARE } from '#shared/usage.ts';
import { visible } from '#shared/visible.ts';
import type { Actions } from './actions.ts';
import type { ShellDeps } from './system.ts';
import { displayName, haltedBy, type TrayFacts } from './tray-state.ts';
import type { WindowView } from './window.ts';

/** What the owner must know even if no window is open. */
export interface Notice {
  /** Each cause is shown once; the same text may appear again for another cause. */
  readonly cause: string;
  readonly title: string;
  readonly body: string;
  /** The action that helps. */
  readonly button: { readonly text: string; readonly does: (act: Actions) => void };
}

const opens = (text: string, view?: WindowView): Notice['button'] => ({
  text,
  does: (act) => act.openWindow(view),
});

export function noticesOf(facts: TrayFacts): readonly Notice[] {
  const upstreams = facts.status.upstreams.flatMap((upstream) => [
    ...refusals(upstream, facts),
    ...budgets(upstream, facts),
  ]);
  return [...upstreams, ...outage(facts), ...unverified(facts)];
}

/** For exclusions that end only when the owner does something. */
const REFUSALS: Readonly<Record<string, string>> = {
  credentials: 'Requests skip it until it has another key.',
  quota: 'Requests skip it until its account is topped up or its quota renews.',
};

function refusals(upstream: UpstreamReport, { judgement }: TrayFacts): readonly Notice[] {
  const condition = judgement.conditions[upstream.id];
  if (!('reason' in condition)) return [];
  const [body, what] = [REFUSALS[condition.reason], troubleIn(condition)];
  if (body === undefined || what === null) return [];
  const cause = `${condition.reason} ${upstream.id}`;
  const title = clause(displayName(upstream), what);
  return [{ cause, title, body, button: settingsOf(upstream) }];
}

/** Leaves out sources on which the owner wants to spend nothing. */
function budgets(upstream: UpstreamReport, { judgement }: TrayFacts): readonly Notice[] {
  const { id, budget } = upstream;
  const { kind } = judgement.conditions[id];
  if (kind === 'missing' || kind === 'zero-spend' || budget === undefined) return [];
  const { period, limit, spent } = budget;
  if (spent < WARNED_SHARE * limit) return [];
  const isSpent = spent >= limit;
  const what = isSpent ? 'its budget' : `${WARNED_SHARE * 100}% of its budget`;
  const next = period === 'day' ? 'until tomorrow' : 'until next month';
  return [
    {
      cause: `budget ${isSpent ? 'spent' : 'nearly spent'} ${id} ${period}`,
      title: `${displayName(upstream)} has spent ${what} for the ${period}`,
      body: `${isSpent ? 'Now' : 'When the budget is spent,'} it is skipped ${next}, unless its budget is raised.`,
      button: settingsOf(upstream),
    },
  ];
}

const settingsOf = ({ id }: UpstreamReport) => opens('Open its settings', `settings/${id}`);

/** Nothing can answer, and not because the owner paused this machine or only wants to spend nothing. */
function outage(facts: TrayFacts): readonly Notice[] {
  const { verdict, conditions } = facts.judgement;
  const isPermitted = Object.values(conditions).some(
    ({ kind }) => kind !== 'missing' && kind !== 'zero-spend',
  );
  if (verdict.kind !== 'stuck' || !isPermitted || haltedBy(facts) !== null) return [];
  const body = 'No source can answer, so apps get errors.';
  return [
    { cause: 'outage', title: 'No model is available', body, button: opens('Open dashboard') },
  ];
}

function unverified({ providers: { failed } }: TrayFacts): readonly Notice[] {
  if (failed === 0) return [];
  return [
    {
      cause: 'unverified',
      title: failed === 1 ? 'A machine failed its test' : `${failed} machines failed their test`,
      body: 'The dashboard shows which check failed and what to do. Until then, no requests go there.',
      button: opens('Show machines', 'providers/failed'),
    },
  ];
}

export const PAGE_GONE: Notice = {
  cause: 'page gone',
  title: 'The app window stopped',
  body: 'The gateway keeps running. The log says why.',
  button: opens('Open it again'),
};

export const crashed = (error: string): Notice => ({
  cause: 'crash',
  title: 'Inglenook crashed and has restarted',
  body: `Running requests were cut off. ${error}`,
  button: { text: 'Open logs', does: (act) => act.openLogs() },
});

/** Keys that the keychain does not open; shown once per start. */
export const lostKeys = (paths: readonly string[]): Notice => ({
  cause: 'lost keys',
  title: 'The keychain does not open your API keys',
  body: `Unlock it, or enter them again: ${paths.join(', ')}. Nothing else has changed.`,
  button: opens('Open settings', 'settings'),
});

/** A cause that ends within this time is not shown. */
const LOOK_EVERY_MS = 15_000;
/** A cause that returns within this time is not shown again. */
const SAME_CAUSE_MS = 600_000;
/** Older notifications have long left the screen. */
const MAX_KEPT = 20;

/** Shows notices as system notifications, each cause once while it lasts. */
export function createNotifier(
  { electron: { Notification }, clock }: ShellDeps,
  look: () => readonly Notice[],
  act: () => Actions,
) {
  /** When each cause that was shown was last seen. */
  const told = new Map<string, number>();
  let before: readonly Notice[] = [];
  let cancel = clock.after(LOOK_EVERY_MS, lookAgain);
  /** Kept, because a garbage-collected notification ignores clicks. */
  const shown: Electron.Notification[] = [];

  function show({ title, body, button }: Notice): void {
    if (!Notification.isSupported()) return;
    const actions = [{ type: 'button' as const, text: button.text }];
    const notification = new Notification({ title: visible(title), body: visible(body), actions });
    const runAction = () => button.does(act());
    // Some systems show no buttons, so a click anywhere does the same.
    notification.on('click', runAction).on('action', runAction);
    notification.show();
    shown.push(notification);
    if (shown.length > MAX_KEPT) shown.shift();
  }

  function lookAgain(): void {
    cancel = clock.after(LOOK_EVERY_MS, lookAgain);
    const now = clock.ticks();
    const holding = look();
    for (const notice of holding) {
      const isTold = now - (told.get(notice.cause) ?? -Infinity) < SAME_CAUSE_MS;
      if (!isTold && !before.some(({ cause }) => cause === notice.cause)) continue;
      told.set(notice.cause, now);
      if (!isTold) show(notice);
    }
    before = holding;
  }

  return {
    /** Shows it at once, for a cause that does not end. */
    say: show,
    stop: () => cancel(),
  };
}

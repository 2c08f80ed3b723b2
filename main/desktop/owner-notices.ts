import type * as Electron from 'electron';
import type { UpstreamReport } from '#shared/status.ts';
import { WARNED_SHARE } from '#shared/usage.ts';
import { visible } from '#shared/visible.ts';
import type { Clock } from '../platform/clock.ts';
import type { Actions } from './actions.ts';
import { displayName, haltedBy, isConfigured, type TrayFacts } from './tray-state.ts';

/** What the owner must know even if no window is open. */
export interface Notice {
  /** Each cause is shown once; the same text may appear again for another cause. */
  readonly cause: string;
  readonly title: string;
  readonly body: string;
  /** The action that helps. */
  readonly button: { readonly text: string; readonly does: (act: Actions) => void };
}

const OPEN_WINDOW: Notice['button'] = {
  text: 'Open dashboard',
  does: (act) => act.openWindow(),
};

export function noticesOf(facts: TrayFacts): readonly Notice[] {
  return [...refusals(facts), ...budgets(facts), ...outage(facts), ...unverified(facts)];
}

/** Exclusions that end only when the owner does something. */
const REFUSALS: Readonly<Record<string, readonly [what: string, body: string]>> = {
  credentials: ['rejects your key', 'Requests skip it until it has another key.'],
  quota: [
    'is out of quota',
    'Requests skip it until its account is topped up or its quota renews.',
  ],
};

function refusals({ status, judgement }: TrayFacts): readonly Notice[] {
  return status.upstreams.flatMap((upstream) => {
    const condition = judgement.conditions[upstream.id];
    if (condition.kind !== 'skipped' && condition.kind !== 'down') return [];
    const [what, body] = REFUSALS[condition.reason] ?? [];
    if (what === undefined || body === undefined) return [];
    const cause = `${condition.reason} ${upstream.id}`;
    const title = `${displayName(upstream)} ${what}`;
    return [{ cause, title, body, button: settingsOf(upstream) }];
  });
}

/** Leaves out budgets of 0: there the owner wants to spend nothing. */
function budgets(facts: TrayFacts): readonly Notice[] {
  const { status } = facts;
  return status.upstreams.flatMap((upstream) => {
    const { id, budget } = upstream;
    if (status.forceZero || budget === undefined || !isConfigured(id, facts)) return [];
    const { period, limit, spent } = budget;
    if (limit === 0 || spent < WARNED_SHARE * limit) return [];
    const isSpent = spent >= limit;
    const what = isSpent ? 'its budget' : `${WARNED_SHARE * 100}% of its budget`;
    const next = period === 'day' ? 'until tomorrow' : 'until next month';
    const title = `${displayName(upstream)} has spent ${what} for the ${period}`;
    const body = `${isSpent ? 'Now' : 'When the budget is spent,'} it is skipped ${next}, unless its budget is raised.`;
    const cause = `budget ${isSpent ? 'spent' : 'nearly spent'} ${id} ${period}`;
    return [{ cause, title, body, button: settingsOf(upstream) }];
  });
}

const settingsOf = ({ id }: UpstreamReport): Notice['button'] => ({
  text: 'Open its settings',
  does: (act) => act.openWindow(`settings/${id}`),
});

/** Nothing can answer, and not because the owner paused this machine or only wants to spend nothing. */
function outage(facts: TrayFacts): readonly Notice[] {
  const { verdict, conditions } = facts.judgement;
  const permitted = Object.values(conditions).filter(
    ({ kind }) => kind !== 'missing' && kind !== 'zero-spend',
  );
  if (verdict.kind !== 'stuck' || permitted.length === 0 || haltedBy(facts) !== null) return [];
  const body = 'No upstream can answer, so apps get errors.';
  return [{ cause: 'outage', title: 'Nothing serves', body, button: OPEN_WINDOW }];
}

function unverified({ providers }: TrayFacts): readonly Notice[] {
  if (providers.failed === 0) return [];
  const machines = providers.failed === 1 ? 'A machine' : `${providers.failed} machines`;
  return [
    {
      cause: 'unverified',
      title: `${machines} failed verification`,
      body: 'It gets no requests. The dashboard shows which check failed and what to do.',
      button: { text: 'Show machines', does: (act) => act.openWindow('providers/failed') },
    },
  ];
}

/** The page keeps crashing, and is not reopened. */
export const pageGone = (): Notice => ({
  cause: 'page gone',
  title: 'The app window keeps crashing',
  body: 'The gateway keeps running. The same page opens in a browser.',
  button: { text: 'Open in browser', does: (act) => act.openBrowser() },
});

/** Keys that the keychain can no longer open; shown once per start. */
export function lostKeys(paths: readonly string[]): readonly Notice[] {
  if (paths.length === 0) return [];
  return [
    {
      cause: 'lost keys',
      title: 'The keychain cannot open your API keys',
      body: `Enter them again: ${paths.join(', ')}. Nothing else has changed.`,
      button: { text: 'Open settings', does: (act) => act.openWindow('settings') },
    },
  ];
}

/** A cause that ends within this time is not shown. */
const HOLD_MS = 15_000;
/** A cause that returns within this time is not shown again. */
const SAME_CAUSE_MS = 600_000;
/** Older notifications have long left the screen. */
const MAX_KEPT = 20;

interface NotifierDeps {
  readonly Notification: typeof Electron.Notification;
  readonly clock: Clock;
  readonly act: Actions;
}

interface Cause {
  readonly cancel: () => void;
  isShown: boolean;
  /** When the cause ended; null while it holds. */
  endedAt: number | null;
}

/** Shows notices as system notifications, each cause at most once while it lasts. */
export function createNotifier({ Notification, clock, act }: NotifierDeps) {
  const causes = new Map<string, Cause>();
  /** Kept, because a garbage-collected notification ignores clicks. */
  const shown: Electron.Notification[] = [];

  function show({ title, body, button }: Notice): void {
    if (!Notification.isSupported()) return;
    const actions = [{ type: 'button' as const, text: button.text }];
    const notification = new Notification({ title: visible(title), body: visible(body), actions });
    const runAction = () => button.does(act);
    // Some systems show no buttons, so a click anywhere does the same.
    notification.on('click', runAction).on('action', runAction);
    notification.show();
    shown.push(notification);
    if (shown.length > MAX_KEPT) shown.shift();
  }

  function begin(notice: Notice): void {
    const cause: Cause = {
      cancel: clock.after(HOLD_MS, () => {
        cause.isShown = true;
        show(notice);
      }),
      isShown: false,
      endedAt: null,
    };
    causes.set(notice.cause, cause);
  }

  return {
    /** Takes all causes that hold now. */
    update(notices: readonly Notice[]) {
      const now = clock.ticks();
      for (const [name, cause] of causes) {
        const holds = notices.some((notice) => notice.cause === name);
        const endedAt = cause.endedAt ?? now;
        const isOver = cause.isShown ? now - endedAt >= SAME_CAUSE_MS : !holds;
        if (isOver) {
          cause.cancel();
          causes.delete(name);
        } else cause.endedAt = holds ? null : endedAt;
      }
      for (const notice of notices) if (!causes.has(notice.cause)) begin(notice);
    },
    /** Shows it at once, for a cause that does not end. */
    say: show,
    stop() {
      for (const { cancel } of causes.values()) cancel();
    },
  };
}

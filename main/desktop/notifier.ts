import { visible } from '#shared/visible.ts';
import type { Clock } from '../platform/clock.ts';
import type { ElectronApi, NotificationApi } from './electron-api.ts';
import type { MenuAction } from './menu-entry.ts';
import type { Notice } from './owner-notices.ts';

/** A cause that ends within this time is not shown. */
const HOLD_MS = 15_000;
/** A cause that returns within this time is not shown again. */
const SAME_CAUSE_MS = 600_000;
/** Older notifications have long left the screen. */
const MAX_KEPT = 20;

interface NotifierDeps {
  readonly Notification: ElectronApi['Notification'];
  readonly clock: Clock;
  readonly act: (action: MenuAction) => void;
}

/** Shows notices as system notifications, each cause at most once while it lasts. */
export interface Notifier {
  /** Takes all causes that hold now. */
  update(notices: readonly Notice[]): void;
  /** Shows it at once, for a cause that does not end. */
  say(notice: Notice): void;
  stop(): void;
}

interface Cause {
  readonly cancel: () => void;
  isShown: boolean;
  /** When the cause ended; null while it holds. */
  endedAt: number | null;
}

export function createNotifier({ Notification, clock, act }: NotifierDeps): Notifier {
  const causes = new Map<string, Cause>();
  /** Kept, because a garbage-collected notification ignores clicks. */
  const shown: NotificationApi[] = [];

  function show({ title, body, button }: Notice): void {
    if (!Notification.isSupported()) return;
    const actions = [{ type: 'button' as const, text: button.text }];
    const notification = new Notification({ title: visible(title), body: visible(body), actions });
    const runAction = () => act(button.action);
    // Some systems show no buttons, so a click anywhere does the same.
    notification.on('click', runAction);
    notification.on('action', runAction);
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

  function end(name: string, cause: Cause): void {
    cause.endedAt ??= clock.ticks();
    if (cause.isShown && clock.ticks() - cause.endedAt < SAME_CAUSE_MS) return;
    cause.cancel();
    causes.delete(name);
  }

  return {
    update(notices) {
      const holding = new Set(notices.map(({ cause }) => cause));
      for (const [name, cause] of causes) {
        if (!holding.has(name) || cause.endedAt !== null) end(name, cause);
      }
      for (const notice of notices) {
        const known = causes.get(notice.cause);
        if (known === undefined) begin(notice);
        else known.endedAt = null;
      }
    },
    say: show,
    stop() {
      for (const { cancel } of causes.values()) cancel();
    },
  };
}

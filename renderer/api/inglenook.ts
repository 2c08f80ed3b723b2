import type { NameUsageReport } from '#shared/models.ts';
import type { HistoryRange, HistoryReport } from '#shared/usage.ts';
import { createAccess } from './access.ts';
import { createAgent } from './agent.ts';
import { createAsk } from './ask.ts';
import { type Client, createCaller, createClient } from './client.ts';
import { createControl } from './control.ts';
import { followFeed } from './feed.ts';
import { createProviders } from './providers.ts';
import { createRequests } from './requests.ts';
import { INITIAL_STATE, reduceWindow, type WindowAction } from './window-state.ts';

export type Inglenook = ReturnType<typeof connectInglenook>;

/** Redeems the code in the address, if any, and follows the feed as long as the page is open. */
export function connectInglenook(page: Window) {
  const store = createStore();
  const client = createClient({
    fetch: page.fetch.bind(page),
    storage: page.sessionStorage,
    standing: page.localStorage,
  });
  const pause = createPause(page);
  const noteSession = (): void => {
    const control = client.hasSession();
    if (control !== store.getState().control) store.dispatch({ kind: 'session', control });
  };

  const caller = createCaller(client, noteSession);
  const actions = createControl(client, caller, (settings) =>
    store.dispatch({ kind: 'settings', settings }),
  );
  const agent = createAgent(caller);

  // This page came from the other name of loopback, where no tab was signed in, and keeps its route.
  const cameFor = takeMark(page, 'lend');
  if (cameFor !== null) page.location.replace(`#${cameFor}`);

  const redeemCode = async (): Promise<void> => {
    const code = takeMark(page, 'code');
    const problem = code === null ? null : await client.redeem(code);
    // A used link is no problem for a browser that is signed in.
    const control = client.hasSession();
    store.dispatch({ kind: 'session', control, notice: control ? null : problem });
  };
  // A link that is pasted where the page is open loads nothing.
  page.addEventListener('hashchange', ({ newURL }) => {
    if (new URL(newURL).hash.startsWith('#code=')) void redeemCode().then(actions.readSettings);
  });

  const run = async (): Promise<void> => {
    await redeemCode();
    const control = client.hasSession();
    if (!control && cameFor !== null) void borrowSession();
    await followFeed(
      { client, wait: pause.wait, signal: new AbortController().signal },
      {
        onEvent: (event) => {
          noteSession();
          // Every connection starts with a snapshot, and may be to a restarted gateway.
          if (event.kind === 'snapshot') agent.reconsider();
          store.dispatch({ kind: 'event', event, now: Date.now() });
          if (event.kind === 'snapshot') void actions.readSettings();
        },
        onLost: () => store.dispatch({ kind: 'lost', now: Date.now() }),
        onLocked: () => store.dispatch({ kind: 'locked' }),
      },
    );
  };
  const lending = createLending(client);

  /** Signs this tab in by another tab of this browser, at whichever name of loopback that one is; or says that none is. */
  async function borrowSession(): Promise<void> {
    const isLent = await lending.borrow();
    if (isLent) void actions.readSettings();
    const other = isLent || cameFor !== null ? null : atOtherName(page.location);
    if (other !== null) return follow(page, other);
    store.dispatch({
      kind: 'session',
      control: client.hasSession(),
      notice: isLent ? null : ALONE,
    });
  }

  void run();

  return {
    store,
    borrowSession,
    retryNow: pause.skip,
    actions,
    ask: createAsk(client),
    registry: createProviders(caller),
    agent,
    access: createAccess(client, caller, noteSession),
    /** Unlocks the page with an API key; resolves with an error message, or null. */
    unlock: async (key: string): Promise<string | null> => {
      const problem = await client.unlock(key);
      if (problem === null) pause.skip();
      return problem;
    },
    requests: createRequests(caller),
    readNameUsage: () => caller.call<NameUsageReport>('/api/v1/models/asked'),
    readHistory: (range: HistoryRange) =>
      caller.call<HistoryReport>(`/api/v1/history?range=${range}`),
  };
}

/** How long a tab that is asked may take to answer. */
const LENT_WITHIN_MS = 2_000;

/** Tabs of one browser at one address lend each other their sign-in, if its owner asks in one that has none. */
function createLending(client: Pick<Client, 'session' | 'takeSession'>) {
  const channel = new BroadcastChannel('inglenook.session');
  const say = channel.postMessage.bind(channel);
  let onLent = (_token: string): void => undefined;
  channel.addEventListener(
    'message',
    ({ data }: MessageEvent<{ readonly token: string | null }>) => {
      if (data.token !== null) return onLent(data.token);
      const token = client.session();
      if (token !== null) say({ token });
    },
  );
  return {
    async borrow(): Promise<boolean> {
      const token = await new Promise<string | null>((resolve) => {
        onLent = resolve;
        setTimeout(() => resolve(null), LENT_WITHIN_MS);
        say({ token: null });
      });
      if (token !== null) client.takeSession(token);
      return token !== null;
    },
  };
}

/** What a tab without a sign-in is told if no other can lend it one. */
export const ALONE = 'No other tab is signed in.';

/** This page at the other name of loopback, which is another origin, so tabs at one cannot reach tabs at the other. */
function atOtherName({ protocol, hostname, port, hash }: Location): string | null {
  const other = { localhost: '127.0.0.1', '127.0.0.1': 'localhost' }[hostname];
  // The certificate of a proxy names one of them.
  if (other === undefined || protocol !== 'http:') return null;
  return `http://${other}:${port}/#lend=${hash.slice(1)}`;
}

/** The gateway accepts a link from its own page, by the referrer that only this link sends. */
function follow(page: Window, href: string): void {
  Object.assign(page.document.createElement('a'), { href, referrerPolicy: 'origin' }).click();
}

/** Removes a single-use code, or the mark of a page that looks for a sign-in, so that history and bookmarks keep neither. */
function takeMark(page: Window, name: 'code' | 'lend'): string | null {
  const { hash, pathname, search } = page.location;
  if (!hash.startsWith(`#${name}=`)) return null;
  page.history.replaceState(null, '', pathname + search);
  return hash.slice(name.length + 2);
}

/** A pause that ends early when the page gets the focus or the network returns. */
function createPause(page: Window): { wait: (ms: number) => Promise<void>; skip: () => void } {
  let skip: (() => void) | null = null;
  page.addEventListener('online', () => skip?.());
  page.addEventListener('focus', () => skip?.());
  return {
    wait: (ms) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, ms);
        skip = () => {
          clearTimeout(timer);
          resolve();
        };
      }),
    skip: () => skip?.(),
  };
}

/** The state with listeners, in the form that `useSyncExternalStore` needs; they are called only when it changes. */
function createStore() {
  let state = INITIAL_STATE;
  const listeners = new Set<() => void>();
  return {
    getState: () => state,
    dispatch: (action: WindowAction): void => {
      const next = reduceWindow(state, action);
      if (next === state) return;
      state = next;
      for (const listener of listeners) listener();
    },
    subscribe: (listener: () => void): (() => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

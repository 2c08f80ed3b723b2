import { type Access, createAccess } from './access.ts';
import { type Agent, createAgent } from './agent.ts';
import { createChat, type SendChat } from './chat.ts';
import { createClient } from './client.ts';
import { type Control, createControl } from './control.ts';
import { followFeed } from './feed.ts';
import { createHistory, type History } from './history.ts';
import { createProviders, type Providers } from './providers.ts';
import { createRequests, type Requests } from './requests.ts';
import {
  INITIAL_STATE,
  reduceWindow,
  type WindowAction,
  type WindowState,
} from './window-state.ts';

/** The page's connection to its gateway: its state and the available actions. */
export interface Switchyard {
  readonly store: Pick<Store<WindowState, WindowAction>, 'getState' | 'subscribe'>;
  /** Skips the pause before the next reconnection. */
  retryNow: () => void;
  readonly actions: Control;
  readonly registry: Providers;
  readonly agent: Agent;
  readonly sendChat: SendChat;
  readonly access: Access;
  /** Unlocks the page with an API key; resolves with an error message, or null. */
  unlock: (key: string) => Promise<string | null>;
  readonly history: History;
  readonly requests: Requests;
}

/** Redeems the code in the address, if any, and follows the feed as long as the page is open. */
export function connectSwitchyard(page: Window): Switchyard {
  const store = createStore(reduceWindow, INITIAL_STATE);
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

  const control = createControl(client, {
    answered: noteSession,
    settings: (settings) => store.dispatch({ kind: 'settings', settings }),
  });

  const agent = createAgent(client, noteSession);

  const run = async (): Promise<void> => {
    const code = takeCode(page);
    const notice = code === null ? null : await client.redeem(code);
    store.dispatch({ kind: 'session', control: client.hasSession(), notice });
    await followFeed(
      { client, wait: pause.wait, signal: new AbortController().signal },
      {
        onEvent: (event) => {
          noteSession();
          // Every connection starts with a snapshot, and may be to a restarted gateway.
          if (event.kind === 'snapshot') agent.reconsider();
          store.dispatch({ kind: 'event', event, now: Date.now() });
          if (event.kind === 'snapshot') void control.readSettings();
        },
        onLost: () => store.dispatch({ kind: 'lost', now: Date.now() }),
        onLocked: () => store.dispatch({ kind: 'locked' }),
      },
    );
  };
  void run();

  return {
    store,
    retryNow: pause.skip,
    actions: control,
    sendChat: createChat(client),
    registry: createProviders(client, noteSession),
    agent,
    access: createAccess(client, noteSession),
    async unlock(key) {
      const problem = await client.unlock(key);
      if (problem === null) pause.skip();
      return problem;
    },
    history: createHistory(client, noteSession),
    requests: createRequests(client, noteSession),
  };
}

/** Removes the single-use code from the address, so that history and bookmarks do not keep it. */
function takeCode(page: Window): string | null {
  const match = /^#code=(.+)$/.exec(page.location.hash);
  if (!match?.[1]) return null;
  page.history.replaceState(null, '', page.location.pathname + page.location.search);
  return match[1];
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

/** A value with listeners, in the form that `useSyncExternalStore` needs. */
interface Store<State, Action> {
  getState: () => State;
  dispatch: (action: Action) => void;
  subscribe: (listener: () => void) => () => void;
}

/** Listeners are called only when the state changes. */
function createStore<State, Action>(
  reduce: (state: State, action: Action) => State,
  initial: State,
): Store<State, Action> {
  let state = initial;
  const listeners = new Set<() => void>();
  return {
    getState: () => state,
    dispatch: (action) => {
      const next = reduce(state, action);
      if (next === state) return;
      state = next;
      for (const listener of listeners) listener();
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

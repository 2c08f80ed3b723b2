import { assertNever } from '#shared/assert.ts';
import type { LiveEvent } from '#shared/live.ts';
import type { SettingsView } from '#shared/settings.ts';
import { applyEvent, type LiveData } from './live-data.ts';

type Connection =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  | { readonly kind: 'lost'; readonly since: number }
  | { readonly kind: 'locked' };

/** Only a control session can read settings. */
export type SettingsState =
  | { readonly kind: 'unread' }
  | { readonly kind: 'unreadable'; readonly message: string }
  | { readonly kind: 'read'; readonly view: SettingsView };

export interface WindowState {
  readonly connection: Connection;
  readonly control: boolean;
  /** Why a link with a code did not give control. */
  readonly notice: string | null;
  readonly data: LiveData | null;
  readonly settings: SettingsState;
}

export type WindowAction =
  | { readonly kind: 'event'; readonly event: LiveEvent; readonly now: number }
  | { readonly kind: 'lost'; readonly now: number }
  | { readonly kind: 'locked' }
  | { readonly kind: 'settings'; readonly settings: SettingsState }
  | { readonly kind: 'session'; readonly control: boolean; readonly notice?: string | null };

export const INITIAL_STATE: WindowState = {
  connection: { kind: 'connecting' },
  control: false,
  notice: null,
  data: null,
  settings: { kind: 'unread' },
};

export function reduceWindow(state: WindowState, action: WindowAction): WindowState {
  switch (action.kind) {
    case 'event':
      return {
        ...state,
        connection: state.connection.kind === 'live' ? state.connection : { kind: 'live' },
        data: applyEvent(state.data, action.event, action.now),
      };
    case 'lost':
      // Keeps the time of the first loss: failed retries do not make the data newer.
      return state.connection.kind === 'lost'
        ? state
        : { ...state, connection: { kind: 'lost', since: action.now } };
    case 'locked':
      return { ...state, connection: { kind: 'locked' } };
    case 'settings':
      // Settings that were read are more useful than an error about reading them again.
      return action.settings.kind !== 'read' && state.settings.kind === 'read'
        ? state
        : { ...state, settings: action.settings };
    case 'session':
      return {
        ...state,
        control: action.control,
        notice: action.notice === undefined ? state.notice : action.notice,
      };
    default:
      return assertNever(action, 'action');
  }
}

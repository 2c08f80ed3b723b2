import { createContext, useContext, useEffect, useState } from 'react';
import type { LiveData, SettingsState } from './api/window-state.ts';
import type { Inglenook } from './api/inglenook.ts';

export interface WindowContent extends Omit<Inglenook, 'store'> {
  readonly data: LiveData;
  /** Page time, updated only while something on screen counts. */
  readonly now: number;
  /** Time of the disconnection, at which clocks stop; null while connected. */
  readonly frozenAt: number | null;
  readonly control: boolean;
  readonly settings: SettingsState;
}

export const WindowContext = createContext<WindowContent | null>(null);

export function useWindow(): WindowContent {
  const content = useContext(WindowContext);
  if (content === null) throw new Error('used outside the pages');
  return content;
}

/** The gateway's clock in milliseconds since the epoch, updated once a second while connected. */
export function useServerNow(): number {
  const { data, frozenAt } = useWindow();
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (frozenAt !== null) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [frozenAt]);
  return (frozenAt ?? now) + data.skewMs;
}

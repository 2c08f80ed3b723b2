import { useCallback, useEffect, useRef, useState } from 'react';
import { hashOf, type Route } from './route.ts';

type RequestsRoute = Extract<Route, { readonly page: 'requests' }>;

export interface OpenDetails {
  /** The page to render: the one behind the details if they are open. */
  readonly page: Route;
  readonly id: string | null;
  readonly open: (id: string) => void;
  /** Replaces the open request with another. */
  readonly go: (id: string) => void;
  readonly close: () => void;
}

/** The details of a request have their own address and lie over the page on which they were opened. */
export function useOpenRequest(route: Route): OpenDetails {
  const requests: RequestsRoute =
    route.page === 'requests' ? route : { page: 'requests', filter: 'all' };
  const { request: id, ...list } = requests;
  const isOpen = id !== undefined;
  const [behind, setBehind] = useState<Route>(isOpen ? list : route);
  if (!isOpen && behind !== route && hashOf(behind) !== hashOf(route)) setBehind(route);
  const wasOpenedHere = useRef(false);

  const listHash = hashOf(list);
  const latest = useRef(list);
  useEffect(() => {
    latest.current = list;
  });
  // Stable, because rows are rendered once and keep it.
  const open = useCallback((next: string) => {
    wasOpenedHere.current = true;
    location.hash = hashOf({ ...latest.current, request: next });
  }, []);
  return {
    page: isOpen ? behind : route,
    id: id ?? null,
    open,
    go: (next) => location.replace(hashOf({ ...list, request: next })),
    close() {
      if (!isOpen) return;
      if (wasOpenedHere.current) history.back();
      else location.replace(listHash);
      wasOpenedHere.current = false;
    },
  };
}

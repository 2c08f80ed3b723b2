import { useSyncExternalStore } from 'react';
import { routeOf, type Route } from '../route.ts';

/** The route of the address, followed as it changes. */
export function useRoute(): Route {
  return routeOf(useSyncExternalStore(subscribe, () => location.hash));
}

function subscribe(listener: () => void): () => void {
  addEventListener('hashchange', listener);
  return () => removeEventListener('hashchange', listener);
}

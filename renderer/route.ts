import { assertNever } from '#shared/assert.ts';
import { HISTORY_RANGES, type HistoryRange } from '#shared/usage.ts';
import { PROVIDER_FILTERS, type ProviderFilter } from './features/providers/provider-groups.ts';
import { REQUEST_FILTERS, type RequestFilter } from './features/requests/request-filter.ts';

export type Route =
  | { readonly page: 'overview' }
  /** `joining`: asks for the line of another gateway, for this machine. */
  | { readonly page: 'providers'; readonly filter: ProviderFilter; readonly joining?: true }
  | { readonly page: 'provider'; readonly id: string }
  | { readonly page: 'requests'; readonly filter: RequestFilter }
  | { readonly page: 'history'; readonly range: HistoryRange }
  /** The section is the one to be opened, null for none in particular. */
  | { readonly page: 'settings'; readonly section: string | null };

/** Reads the hash; anything unknown is the overview. */
export function routeOf(hash: string): Route {
  const [page, detail] = hash.replace(/^#\/?/, '').split('/');
  if (page === 'settings') {
    return { page: 'settings', section: /^\w+$/.test(detail ?? '') ? (detail ?? null) : null };
  }
  if (page === 'join') return { page: 'providers', filter: 'all', joining: true };
  if (page === 'providers') return providersRoute(detail ?? '');
  if (page === 'history') {
    return { page, range: HISTORY_RANGES.find((range) => range === detail) ?? 'day' };
  }
  if (page !== 'requests') return { page: 'overview' };
  return { page, filter: REQUEST_FILTERS.find((filter) => filter === detail) ?? 'all' };
}

function providersRoute(detail: string): Route {
  const filter = PROVIDER_FILTERS.find((name) => name === detail);
  if (filter !== undefined || detail === '') return { page: 'providers', filter: filter ?? 'all' };
  return { page: 'provider', id: detail };
}

/** The hash of a route. */
export function hashOf(route: Route): string {
  switch (route.page) {
    case 'overview':
      return '#/';
    case 'settings':
      return route.section === null ? '#/settings' : `#/settings/${route.section}`;
    case 'providers':
      if (route.joining === true) return '#/join';
      return route.filter === 'all' ? '#/providers' : `#/providers/${route.filter}`;
    case 'provider':
      return `#/providers/${route.id}`;
    case 'requests':
      return route.filter === 'all' ? '#/requests' : `#/requests/${route.filter}`;
    case 'history':
      return route.range === 'day' ? '#/history' : `#/history/${route.range}`;
    default:
      return assertNever(route, 'route');
  }
}

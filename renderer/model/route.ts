import { REQUEST_FILTERS, type RequestFilter } from './request-filter.ts';

/** What the address asks for. */
export type Route =
  { readonly page: 'overview' } | { readonly page: 'requests'; readonly filter: RequestFilter };

/** Reads the hash; anything unknown is the overview. */
export function routeOf(hash: string): Route {
  const [page, detail] = hash.replace(/^#\/?/, '').split('/');
  if (page !== 'requests') return { page: 'overview' };
  return { page, filter: REQUEST_FILTERS.find((filter) => filter === detail) ?? 'all' };
}

/** The hash of a route. */
export function hashOf(route: Route): string {
  if (route.page === 'overview') return '#/';
  return route.filter === 'all' ? '#/requests' : `#/requests/${route.filter}`;
}

import { assertNever } from '#shared/assert.ts';
import {
  FACETS,
  type Narrowing,
  REQUEST_FILTERS,
  type RequestFilter,
} from '#shared/request-filter.ts';
import { HISTORY_RANGES, type HistoryRange } from '#shared/usage.ts';
import { PROVIDER_FILTERS, type ProviderFilter } from './features/providers/provider-standing.ts';

export type Route =
  /** `isTrying`: the prompt of "Try it" gets the focus. */
  | { readonly page: 'overview'; readonly isTrying?: boolean }
  /** `dialog`: the one to open: adds a machine to this gateway, or joins this machine to another. */
  | {
      readonly page: 'providers';
      readonly filter: ProviderFilter;
      readonly dialog?: 'add' | 'join';
    }
  | { readonly page: 'provider'; readonly id: string }
  | {
      readonly page: 'requests';
      readonly filter: RequestFilter;
      readonly by?: Narrowing;
      readonly request?: string;
    }
  | { readonly page: 'models' }
  /** `range`: null for the one that shows most. */
  | { readonly page: 'history'; readonly range: HistoryRange | null }
  /** `section`: the one to open; null for none. `field`: the setting in it to go to. */
  | { readonly page: 'settings'; readonly section: string | null; readonly field?: string };

/** Parses the hash; anything unknown is the overview. */
export function routeOf(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [page, detail, part] = path.split('/');
  if (page === 'settings') {
    return settingsRoute(detail, part);
  }
  if (page === 'add' || page === 'join') return { page: 'providers', filter: 'all', dialog: page };
  if (page === 'providers') return providersRoute(detail ?? '');
  if (page === 'models') return { page };
  if (page === 'try') return { page: 'overview', isTrying: true };
  if (page === 'history') {
    return { page, range: HISTORY_RANGES.find((each) => each === detail) ?? null };
  }
  if (page !== 'requests') return { page: 'overview' };
  return requestsRoute(detail ?? '', new URLSearchParams(query));
}

/** `detail` is the section to open, `part` the key of a setting in it. */
function settingsRoute(detail = '', part = ''): Route {
  const isName = (text: string) => /^\w+$/.test(text);
  if (!isName(detail)) return { page: 'settings', section: null };
  return { page: 'settings', section: detail, ...(isName(part) ? { field: part } : {}) };
}

/** `detail` is a filter's name, or a request's id with the filter after the question mark. */
function requestsRoute(detail: string, query: URLSearchParams): Route {
  const find = (name: string | null) => REQUEST_FILTERS.find((filter) => filter === name);
  const filter = find(detail) ?? find(query.get('outcome')) ?? 'all';
  const named = PARTS.flatMap((part) => (query.get(part) ? [[part, query.get(part)]] : []));
  const isRequest = detail !== '' && find(detail) === undefined;
  return {
    page: 'requests',
    filter,
    ...(named.length > 0 ? { by: Object.fromEntries(named) as Narrowing } : {}),
    ...(isRequest ? { request: detail } : {}),
  };
}

const PARTS = [...FACETS, 'text'] as const;

function requestsHash(filter: RequestFilter, by: Narrowing = {}, request?: string): string {
  const query = new URLSearchParams(PARTS.flatMap((part) => (by[part] ? [[part, by[part]]] : [])));
  if (request !== undefined && filter !== 'all') query.set('outcome', filter);
  const detail = request ?? (filter === 'all' ? '' : filter);
  const path = detail === '' ? '#/requests' : `#/requests/${detail}`;
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}

function providersRoute(detail: string): Route {
  const filter = PROVIDER_FILTERS.find((name) => name === detail);
  if (filter !== undefined || detail === '') return { page: 'providers', filter: filter ?? 'all' };
  return { page: 'provider', id: detail };
}

export function hashOf(route: Route): string {
  switch (route.page) {
    case 'overview':
      return route.isTrying === true ? '#/try' : '#/';
    case 'settings':
      return ['#/settings', route.section, route.field].filter(Boolean).join('/');
    case 'providers':
      if (route.dialog !== undefined) return `#/${route.dialog}`;
      return route.filter === 'all' ? '#/providers' : `#/providers/${route.filter}`;
    case 'provider':
      return `#/providers/${route.id}`;
    case 'requests':
      return requestsHash(route.filter, route.by, route.request);
    case 'models':
      return '#/models';
    case 'history':
      return route.range === null ? '#/history' : `#/history/${route.range}`;
    default:
      return assertNever(route, 'route');
  }
}

/** Where a first prompt is tried. */
export const TRY_IT = hashOf({ page: 'overview', isTrying: true });

/** The pages in the order of their tabs. */
export const TABS = [
  { page: 'overview', hash: hashOf({ page: 'overview' }) },
  { page: 'providers', hash: hashOf({ page: 'providers', filter: 'all' }) },
  { page: 'requests', hash: hashOf({ page: 'requests', filter: 'all' }) },
  { page: 'models', hash: hashOf({ page: 'models' }) },
  { page: 'history', hash: hashOf({ page: 'history', range: null }) },
  { page: 'settings', hash: hashOf({ page: 'settings', section: null }) },
] as const;

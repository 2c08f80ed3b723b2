import { hashOf } from '../route.ts';

/** The pages in the order of their tabs; the number of each is its key. */
export const TABS = [
  { page: 'overview', hash: hashOf({ page: 'overview' }) },
  { page: 'chat', hash: hashOf({ page: 'chat' }) },
  { page: 'providers', hash: hashOf({ page: 'providers', filter: 'all' }) },
  { page: 'requests', hash: hashOf({ page: 'requests', filter: 'all' }) },
  { page: 'history', hash: hashOf({ page: 'history', range: 'day' }) },
  { page: 'settings', hash: hashOf({ page: 'settings', section: null }) },
] as const;

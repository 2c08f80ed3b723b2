import { mapUpstreams } from '#shared/ids.ts';
import type { createMonitor } from '../../main/gateway/monitoring/monitor.ts';
import { forgetfulStore } from '../../main/gateway/usage/store.ts';

type MonitorDeps = Parameters<typeof createMonitor>[0];

/** What a monitor needs beside the requests that it watches, of a gateway that keeps nothing and has seen nothing. */
export const KEEPING_NOTHING = {
  routed() {},
  nameOf: () => null,
  joulesPerToken: () => null,
  opened() {},
  admission: () => ({ running: 0, queued: 0, limit: 5000, refused: 0 }),
  keep: () => ({ load: () => null, changed() {}, flush: () => Promise.resolve() }),
  absence: () => null,
  sightings: () => ({
    view: () => mapUpstreams(() => ({ kind: 'untested' })),
    watched() {},
    excluded() {},
  }),
  usage: forgetfulStore('this test keeps nothing'),
  keys: { limitsOf: () => null },
  app: () => ({ version: '', baseUrl: '', warmupEnabled: false, command: '' }),
} satisfies Partial<MonitorDeps>;

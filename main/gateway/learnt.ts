import type { Clock } from '../platform/clock.ts';
import type { HttpClient } from '../platform/http/types.ts';
import { createPrefills, type Prefills } from './chat/resume/prefills.ts';
import { createEndpointSupport, type EndpointSupport } from './routing/endpoint-support.ts';
import { createUsageSupport, type UsageSupport } from './routing/usage-support.ts';

/** What upstreams and machines turned out to take. */
export interface Learnt {
  readonly prefills: Prefills;
  readonly support: EndpointSupport;
  readonly usageSupport: UsageSupport;
}

export function createLearnt({
  http,
  clock,
}: {
  readonly http: HttpClient;
  readonly clock: Clock;
}): Learnt {
  return {
    prefills: createPrefills(http, clock),
    support: createEndpointSupport(clock),
    usageSupport: createUsageSupport(clock),
  };
}

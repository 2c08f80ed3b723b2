import type { Clock } from '../platform/clock.ts';
import type { HttpClient } from '../platform/http/types.ts';
import { createPrefills, type Prefills } from './chat/resume/prefills.ts';
import { createEndpointSupport, type EndpointSupport } from './routing/endpoint-support.ts';
import { type Adjustments, createAdjustments } from './upstream/adjustments.ts';
import { createItemMemory, type ItemMemory } from './protocols/responses/item-memory.ts';

/** What upstreams and machines turned out to accept, and the items of their answers. */
export interface Learnt {
  readonly prefills: Prefills;
  readonly support: EndpointSupport;
  readonly adjustments: Adjustments;
  readonly items: ItemMemory;
}

/** For items of answers that callers may refer to; enough for thousands of answers. */
const MAX_ITEM_BYTES = 16 * 1024 * 1024;

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
    adjustments: createAdjustments(clock),
    items: createItemMemory(MAX_ITEM_BYTES),
  };
}

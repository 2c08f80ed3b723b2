import { z } from 'zod';
import type { RequestRow } from '#shared/live.ts';
import { FACETS, REQUEST_FILTERS } from '#shared/request-filter.ts';
import type { RequestPage } from '#shared/request-page.ts';
import { keptRowSchema } from '../usage/kept-rows.ts';

/** A request that has ended, or one that runs. */
export const requestRowSchema: z.ZodType<RequestRow> = keptRowSchema
  .extend({ state: z.enum(['running', ...keptRowSchema.shape.state.options]) })
  .meta({ id: 'Request' });

export const requestPageSchema: z.ZodType<RequestPage> = z
  .strictObject({
    data: z.array(requestRowSchema),
    counts: z.record(z.enum(REQUEST_FILTERS), z.int().nonnegative()),
    facets: z.record(z.enum(FACETS), z.array(z.string())),
    machines: z.record(z.string(), z.string()),
  })
  .meta({ id: 'RequestPage' });

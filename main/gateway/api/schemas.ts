import { z } from 'zod';
import { SETTING_SOURCES, type SettingKind, type SettingsView } from '#shared/settings.ts';
import { ENTRIES, type Entry } from '../../config/schema.ts';
import type { RequestRow } from '#shared/live.ts';
import { FACETS, REQUEST_FILTERS, type RequestPage } from '#shared/request-filter.ts';
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

/* The settings as the API shows and takes them, from their table. */

const kinds = [...new Set(ENTRIES.map(({ setting }) => setting.kind.name))];

const settingViewSchema = z.strictObject({
  value: z.unknown(),
  source: z.enum(SETTING_SOURCES),
  env: z.string(),
  kind: z.enum(kinds as [SettingKind, ...SettingKind[]]),
  default: z.unknown(),
  allowed: z.string(),
  meaning: z.string(),
  choices: z.array(z.strictObject({ value: z.string(), meaning: z.string() })).exactOptional(),
  secret: z.literal(true).exactOptional(),
  restart: z.literal(true).exactOptional(),
});

export const settingsViewSchema: z.ZodType<SettingsView> = z
  .record(z.string(), z.record(z.string(), settingViewSchema))
  .meta({ id: 'Settings' });

const sections = Map.groupBy(ENTRIES, ({ section }) => section);

/** Any number of settings; null puts the default back. */
export const settingsChangeSchema = z
  .strictObject(Object.fromEntries([...sections].map(([name, its]) => [name, changeOf(its)])))
  .partial()
  .meta({ id: 'SettingsChange' });

function changeOf(section: readonly Entry[]) {
  const changes = section.map(({ key, setting }) => {
    return [key, setting.kind.schema.nullable().optional().describe(setting.meaning)] as const;
  });
  return z.strictObject(Object.fromEntries(changes));
}

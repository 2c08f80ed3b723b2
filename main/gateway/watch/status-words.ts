import { mapUpstreams, type UpstreamId } from '#shared/ids.ts';
import type { Config } from '../../config.ts';
import { ENV_PREFIX, SETTINGS } from '../../config/settings.ts';

/** The routing sequence in words (interface 2.7). */
export function describeRouting(config: Config): string {
  const seconds = (id: UpstreamId) => `${config[id].timeoutMs} ms`;
  const warm = config.ondemand.warmup
    ? 'when it fails, start warming ondemand in parallel'
    : 'warm-up of ondemand is switched off';
  return (
    `Try local (${seconds('local')}); ${warm}; ` +
    `then hosted_a (${seconds('hosted_a')}), hosted_b (${seconds('hosted_b')}), hosted_c (${seconds('hosted_c')}) in turn; ` +
    `when all fail, wait for ondemand (${seconds('ondemand')}).`
  );
}

function names(settings: object): string {
  return Object.values(settings as Record<string, { readonly env: string }>)
    .map(({ env }) => ENV_PREFIX + env)
    .join(', ');
}

/** Which variables configure what (interface 2.7), from the settings table itself. */
export const ENV_HINTS: Readonly<Record<string, string>> = {
  ...mapUpstreams((id) => names(SETTINGS[id])),
  thresholds: names(SETTINGS.circuit),
};

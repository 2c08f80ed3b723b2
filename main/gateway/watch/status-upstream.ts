import type { UpstreamId } from '#shared/ids.ts';
import type { CircuitReport, UpstreamReport } from '#shared/status.ts';
import type { Config } from '../../config.ts';
import { maskHeaders, maskSecret, maskUrl } from '../../config/mask.ts';
import { ENV_PREFIX, SETTINGS } from '../../config/settings.ts';
import { skipReports } from '../circuit/report.ts';
import type { LocalChoice } from '../request/calls.ts';
import { chatPathOf, localModel } from '../request/upstreams.ts';
import { canServe } from './serving.ts';
import type { StatusParts } from './status.ts';

const DEFAULT_LABELS: Readonly<Record<UpstreamId, string>> = {
  local: 'Local',
  hosted_a: 'Hosted A',
  hosted_b: 'Hosted B',
  hosted_c: 'Hosted C',
  ondemand: 'On demand',
};

/** One upstream as reported (interface 2.5). */
export function upstreamReport(
  id: UpstreamId,
  parts: StatusParts,
  circuit: CircuitReport,
): UpstreamReport {
  const { config, local, now } = parts;
  const skips = skipReports(parts.circuitAt(id).skips, now);
  const { baseUrl, timeoutMs } = config[id];
  const common = {
    id,
    baseUrl: baseUrl === null ? null : maskUrl(baseUrl),
    chatPath: chatPathOf(id),
    model: modelOf(id, config, local) ?? '',
    timeoutMs,
    circuit,
    skips,
    healthy: canServe(id, parts, false) && !circuit.open && skips.length === 0,
  };
  if (id === 'local') {
    return {
      ...common,
      label: DEFAULT_LABELS.local,
      apiKeyEnv: 'none: the Authorization header of the request is forwarded',
      hasKey: false,
      apiKeyPreview: null,
    };
  }
  const { label, apiKey, headers } = config[id];
  return {
    ...common,
    label: label ?? DEFAULT_LABELS[id],
    apiKeyEnv: ENV_PREFIX + SETTINGS[id].apiKey.env,
    hasKey: apiKey !== null,
    apiKeyPreview: apiKey === null ? null : maskSecret(apiKey),
    ...(Object.keys(headers).length === 0 ? {} : { headers: maskHeaders(headers) }),
  };
}

/** The model that an upstream is asked for when the caller names none; null while nobody knows. */
export function modelOf(id: UpstreamId, config: Config, local: LocalChoice): string | null {
  if (id !== 'local') return config[id].model;
  const target = local.kind === 'tier' ? local.targets[0] : null;
  if (target) return localModel(target, null);
  return local.kind === 'target' ? localModel(local.target, null) : null;
}

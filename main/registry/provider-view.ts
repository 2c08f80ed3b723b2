import type {
  AgentRecord,
  Check,
  LocalProvider,
  Provider,
  ProviderStatus,
  Verification,
} from '#shared/provider.ts';
import { CHECK_MISSING, CHECK_NAMES, failureReason } from '#shared/checks.ts';
import { isoTime } from '../platform/dates.ts';
import { type TableEntry, verificationStateOf } from './provider-table.ts';

/** The gateway's own figures on a provider. */
export interface Traffic {
  readonly ewmaTtft: number | null;
  readonly ewmaLatency: number | null;
  readonly concurrentRequests: number;
  readonly totalRequests: number;
  readonly successCount: number;
}

export interface ViewParts {
  readonly entry: TableEntry;
  readonly record: AgentRecord;
  readonly status: ProviderStatus;
  readonly traffic: Traffic;
}

/** A provider as it is listed. Copied field by field, because spreading is slower and a list has thousands. */
export function providerView({ entry, record, status, traffic }: ViewParts): Provider {
  const { stored } = entry;
  return {
    id: entry.id,
    chip: record.chip,
    chip_family: record.chip_family,
    chip_tier: record.chip_tier,
    cpu_cores: record.cpu_cores,
    gpu_cores: record.gpu_cores,
    memory_gb: record.memory_gb,
    memory_bandwidth_gbs: record.memory_bandwidth_gbs,
    current_model: record.current_model,
    models: record.models,
    ...(record.model_facts === undefined ? {} : { model_facts: record.model_facts }),
    ...(record.energy === undefined ? {} : { energy: record.energy }),
    status,
    trust_level: stored.verification.state === 'verified' ? 'software' : 'none',
    attested: false,
    requests_served: record.requests_served,
    tokens_generated: record.tokens_generated,
    machine_model: record.machine_model,
    decode_tps: record.decode_tps,
    gpu: record.gpu,
    host: record.host,
    engine_health: record.engine_health,
    engine_model: record.engine_model,
    region: record.region,
    agent_version: record.agent_version,
    verification: verificationView(entry),
    last_heartbeat: lastHeartbeatOf(entry),
    last_heartbeat_ip: stored.lastHeartbeatIp,
    tailnet_ip: tailnetIpOf(record),
    agent_url: withoutUserinfo(record.agent_url),
    heartbeat_count: stored.heartbeatCount,
    raw: { id: entry.id, ...shownRecord(stored.record ?? record) },
    ewmaTtft: traffic.ewmaTtft,
    ewmaLatency: traffic.ewmaLatency,
    concurrentRequests: traffic.concurrentRequests,
    totalRequests: traffic.totalRequests,
    successCount: traffic.successCount,
  };
}

export function verificationView(entry: TableEntry): Verification {
  const { checks, lastCheckAt, state, address } = entry.stored.verification;
  return {
    status: verificationStateOf(entry),
    routable: state !== 'failed' && address !== null,
    checks: withMissing(checks),
    last_check: lastCheckAt === null ? null : isoTime(lastCheckAt),
    last_heartbeat: lastHeartbeatOf(entry),
    heartbeat_count: entry.stored.heartbeatCount,
    failure_reason: failureReason(checks),
  };
}

const MISSING: readonly Check[] = CHECK_NAMES.map((name) => ({
  name,
  passed: false,
  error: CHECK_MISSING,
}));

/** Every check is listed, whether it ran or not. */
function withMissing(checks: readonly Check[]): Check[] {
  const missing = MISSING.filter(({ name }) => checks.every((check) => check.name !== name));
  return [...checks, ...missing];
}

/** The part of a provider that the status report shows. */
export function excerptOf(entry: TableEntry): LocalProvider | null {
  const record = entry.shown;
  if (record === null) return null;
  return {
    id: entry.id,
    verification: verificationView(entry),
    tailnet_ip: tailnetIpOf(record),
    agent_url: withoutUserinfo(record.agent_url),
    last_heartbeat: lastHeartbeatOf(entry),
    engine_model: record.engine_model,
    engine_health: record.engine_health,
  };
}

function shownRecord(record: AgentRecord): AgentRecord {
  const url = withoutUserinfo(record.agent_url);
  return url === record.agent_url ? record : { ...record, agent_url: url };
}

/** A password in an address is not meant for every reader of the list. */
function withoutUserinfo(address: string): string {
  if (!address.includes('@')) return address;
  const url = URL.parse(address);
  // Without two slashes, a name and its password parse as a scheme and a path.
  if (url === null || url.host === '') return address.slice(address.lastIndexOf('@') + 1);
  if (url.username === '' && url.password === '') return address;
  url.username = '';
  url.password = '';
  return url.href;
}

function lastHeartbeatOf({ stored }: TableEntry): string {
  return isoTime(stored.lastHeartbeatAt ?? stored.enrolledAt);
}

/** Agents send an empty string for "none"; readers get null. */
function tailnetIpOf({ tailnet_ip }: AgentRecord): string | null {
  return tailnet_ip === '' ? null : tailnet_ip;
}

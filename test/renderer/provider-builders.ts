import type { AgentRecord, Check, Provider, ProviderList, Verification } from '#shared/provider.ts';
import { CHECK_NAMES } from '#shared/checks.ts';
import { agentRecord } from '../support/agent-record.ts';
import { NOW } from './builders.ts';

const ID = 'prv_b16c2d1bead1262639764fdb0ee4d377';

/** A verified machine; `record` is what its agent says. */
export function provider(
  over: Partial<Provider> = {},
  record: Partial<AgentRecord> = {},
): Provider {
  const raw = agentRecord(record);
  const { uptime_s: _, ...shown } = raw;
  return {
    ...shown,
    id: ID,
    trust_level: 'software',
    attested: false,
    verification: verification(),
    last_heartbeat: new Date(NOW - 4_000).toISOString(),
    last_heartbeat_ip: '192.168.1.20',
    tailnet_ip: null,
    heartbeat_count: 5760,
    raw: { id: ID, ...raw },
    ewmaTtft: null,
    ewmaLatency: null,
    concurrentRequests: 0,
    totalRequests: 0,
    successCount: 0,
    ...over,
  };
}

export function verification(over: Partial<Verification> = {}): Verification {
  return {
    status: 'verified',
    routable: (over.status ?? 'verified') === 'verified',
    checks: CHECK_NAMES.map((name) => ({ name, passed: true })),
    last_check: new Date(NOW - 60_000).toISOString(),
    last_heartbeat: new Date(NOW - 4_000).toISOString(),
    heartbeat_count: 5760,
    failure_reason: '',
    ...over,
  };
}

/** All checks, those of the given names replaced by the given entries. */
export function checks(...given: readonly Check[]): Check[] {
  const names = new Set(given.map(({ name }) => name));
  const others = CHECK_NAMES.filter((name) => !names.has(name));
  return [...given, ...others.map((name) => ({ name, passed: true }))];
}

export function providerList(...data: Provider[]): ProviderList {
  const of = (status: Verification['status']) =>
    data.filter(({ verification: { status: found } }) => found === status).length;
  return {
    object: 'list',
    data,
    count: data.length,
    verified: of('verified'),
    pending: of('pending'),
    verifying: of('verifying'),
    failed: of('failed'),
  };
}

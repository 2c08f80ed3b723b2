import { CHECKS } from '#shared/provider.ts';
import { parsePublicKey } from '../../platform/agent-identity.ts';
import type { Clock } from '../../platform/clock.ts';
import {
  type AddressPolicy,
  canonicalIp,
  isLoopback,
  type Lookup,
} from '../../platform/network-guard.ts';
import type { VerificationSubject } from '../verifier-port.ts';
import { candidatesOf } from './candidates.ts';
import {
  completed,
  type Finding,
  findingOf,
  judgeEngine,
  judgeGpus,
  SPARED,
} from './judgements.ts';
import {
  healthWithoutKey,
  inferenceDetail,
  NO_CANDIDATE,
  probeHealth,
  probeInference,
  probeModels,
  type Probing,
  type Proved,
} from './probes.ts';

/** Where a provider may be reached. */
export interface AddressRules {
  /** The agents' ports. */
  readonly ports: readonly number[];
  /** The one that is used with host names and addresses. */
  readonly hostPort: number;
  /** Loopback ports of this process's own agent. */
  readonly ownPorts: readonly number[];
}

export interface RunEdges {
  readonly clock: Clock;
  readonly lookup: Lookup;
  /** A fresh random number of at least 128 bits, in hex. */
  readonly newNonce: () => string;
  readonly rules: AddressRules;
  /** PEM; replaces the system's certificate authorities. */
  readonly ca?: string;
}

/**
 * Whether to run a test inference. `carry` keeps the last result if it passed; `if_loaded` does so if the machine
 * reports that no model is loaded; `spare` runs none, because the last one was run very recently.
 */
export type InferenceOrder = 'run' | 'if_loaded' | 'carry' | 'spare';

export interface RunOrder {
  readonly subject: VerificationSubject;
  readonly inference: InferenceOrder;
  /** Ends the run without a result. */
  readonly signal: AbortSignal;
}

/** Limit for a whole run. */
const RUN_TIMEOUT_MS = 60_000;

/** Runs all checks of a provider (docs/agent-protocol.md); null if it was aborted. */
export async function runChecks(
  order: RunOrder,
  edges: RunEdges,
): Promise<readonly Finding[] | null> {
  if (order.signal.aborted) return null;
  const timeout = new AbortController();
  const cancelTimeout = edges.clock.after(RUN_TIMEOUT_MS, () => timeout.abort());
  const signal = AbortSignal.any([order.signal, timeout.signal]);
  try {
    const { engine_health: engineHealth, gpu } = order.subject.record;
    const findings = [
      ...(await overNetwork(order, edges, signal)),
      findingOf(CHECKS.engineHealth, judgeEngine(engineHealth)),
      findingOf(CHECKS.gpuCount, judgeGpus(gpu.count)),
    ];
    return order.signal.aborted ? null : completed(findings);
  } finally {
    cancelTimeout();
  }
}

/** The checks that send requests to the machine. */
async function overNetwork(
  { subject, inference }: RunOrder,
  edges: RunEdges,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const candidates = candidatesOf(subject, edges.rules.hostPort);
  if (candidates.length === 0) return [NO_CANDIDATE];
  const key = parsePublicKey(subject.publicKey)?.key ?? null;
  if (key === null) return candidates.map(healthWithoutKey);
  const { clock, lookup, newNonce, ca } = edges;
  const policy = policyFor(subject, edges.rules);
  const probing: Probing = { subject, key, policy, clock, lookup, newNonce, ca, signal };
  const probes = await Promise.all(candidates.map((candidate) => probeHealth(candidate, probing)));
  const findings = probes.map(({ finding }) => finding);
  const proved = inOrder(probes.flatMap((probe) => probe.proved ?? []));
  const isUnloaded = inference === 'if_loaded' && proved.some((each) => each.isUnloaded);
  const mayKeep = inference === 'carry' || isUnloaded;
  const kept = mayKeep ? proved.flatMap((each) => carried(subject, each)) : [];
  findings.push(...kept);
  // One after another, because the latency of a GPU that answers four at once says nothing.
  for (const each of proved) {
    if (kept.length === 0 && !signal.aborted) {
      findings.push(...(inference === 'spare' ? SPARED : await probeInference(each, probing)));
    }
    if (!signal.aborted) findings.push(await probeModels(each, probing));
  }
  return findings;
}

function policyFor(
  { lastHeartbeatIp, isOwn }: VerificationSubject,
  rules: AddressRules,
): AddressPolicy {
  return {
    loopback: isLoopback(canonicalIp(lastHeartbeatIp) ?? ''),
    ports: rules.ports,
    loopbackPorts: isOwn ? rules.ownPorts : [],
  };
}

/** Sorts by latency, with the agent URL first. */
function inOrder(proved: readonly Proved[]): readonly Proved[] {
  const rank = ({ reached }: Proved) => (reached.source === 'agent_url' ? -1 : reached.latencyMs);
  return proved.toSorted((a, b) => rank(a) - rank(b));
}

/** The last test inference at an address, if it passed in time. */
function carried(
  { verification }: VerificationSubject,
  { origin, reached }: Proved,
): readonly Finding[] {
  const detail = inferenceDetail(origin);
  const findings = [CHECKS.inference, CHECKS.latency].flatMap((name): readonly Finding[] => {
    const check = verification.checks.find(
      (one) => one.name === name && one.detail === detail && one.passed,
    );
    if (check === undefined) return [];
    return [{ check: { ...check, name }, result: 'passed', reached, carried: true }];
  });
  return findings.length === 2 ? findings : [];
}

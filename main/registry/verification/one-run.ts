import type { Log } from '../../platform/log.ts';
import type { VerificationSubject, VerifierHost } from '../verifier-face.ts';
import { runChecks, type RunEdges, type RunOrder } from './checks.ts';
import { inferenceEnding, settled, type InferenceEnding } from './settlement.ts';
import { verdictOf } from './verdict.ts';

/** What the schedule needs to know of a run that came to its end. */
export interface RunEnding {
  /** The machine is loading or busy. */
  readonly deferred: boolean;
  /** What came of its test inferences. */
  readonly inference: InferenceEnding;
  /** One was due and left out, for no model was loaded. */
  readonly leftOut: boolean;
}

/** A run, and whether a test inference was tried before it. */
export interface VerificationOrder extends RunOrder {
  readonly firstInference: boolean;
}

/** Verifies a provider once and hands the result in; null when it was stopped. */
export async function verifyOnce(
  order: VerificationOrder,
  edges: RunEdges & { readonly host: VerifierHost; readonly log: Log },
): Promise<RunEnding | null> {
  const { host, clock, log } = edges;
  const { subject, inference } = order;
  const { id, generation, verification }: VerificationSubject = subject;
  const startedTicks = clock.ticks();
  host.verifying(id, true);
  const findings = await runChecks(order, edges);
  if (findings === null) {
    host.verifying(id, false);
    return null;
  }
  const tested = inferenceEnding(findings);
  const outcome = verdictOf(findings, order.firstInference);
  const after = settled(verification, outcome, { findings, wallMs: clock.now() });
  const recorded = await host.verificationDone(id, generation, after);
  log(recorded.kind === 'unwritten' ? 'warn' : 'info', 'verification_run', {
    provider: id,
    outcome: outcome.kind,
    state: after.state,
    inference,
    recorded: recorded.kind,
    ms: Math.round(clock.ticks() - startedTicks),
  });
  return {
    deferred: outcome.kind === 'loading' || outcome.kind === 'busy',
    inference: tested,
    leftOut: inference === 'if_loaded' && tested === 'none' && outcome.kind === 'verified',
  };
}

import type { AgentMembership, DoctorEntry } from '#shared/agent.ts';
import { CHECK_MISSING, failuresIn } from '#shared/checks.ts';
import type { Check } from '#shared/provider.ts';
import { t } from '../../text/t.ts';

/** `waiting`: no result yet; `unasked`: the other side's check. */
export type SideOutcome = 'passed' | 'failed' | 'missing' | 'waiting' | 'unasked';

export interface Trial {
  readonly passed: boolean;
  /** A request or a command line; null if not reported. */
  readonly tried: string | null;
  readonly output: string;
  readonly remedy: string | null;
  readonly latencyMs: number | null;
}

/** The result of a check from one side. */
export interface Side {
  readonly outcome: SideOutcome;
  readonly trials: readonly Trial[];
}

/** `checks` only if the machine reports to the gateway that serves this page. */
export interface GatewayView {
  readonly verification: NonNullable<AgentMembership['standing']>['verification'] | null;
  readonly checks: readonly Check[];
}

/** The result of a check by this machine's doctor. */
export function hereSide(entries: readonly DoctorEntry[]): Side {
  const ran = entries.filter(({ output }) => output !== CHECK_MISSING);
  if (ran.length === 0) return { outcome: 'missing', trials: [] };
  const trials = ran.map(({ latencyMs = null, passed, tried, output, remedy }) => {
    return { passed, tried, output, remedy, latencyMs };
  });
  return { outcome: trials.some(({ passed }) => passed) ? 'passed' : 'failed', trials };
}

/** The result of a check by the gateway. */
export function gatewaySide(name: string, { verification, checks }: GatewayView): Side {
  const own = checks.filter((check) => check.name === name);
  if (own.length > 0) return sideOf(own);
  if (verification?.status !== 'verified' && verification?.status !== 'failed') {
    return { outcome: 'waiting', trials: [] };
  }
  const failures = failuresIn(verification.failure_reason).filter((one) => one.name === name);
  if (failures.length === 0) return { outcome: 'passed', trials: [] };
  return sideOf(failures.map(({ error }) => ({ name, passed: false, error })));
}

function sideOf(checks: readonly Check[]): Side {
  const ran = checks.filter(({ error }) => error !== CHECK_MISSING);
  if (ran.length === 0) return { outcome: 'missing', trials: [] };
  // A check without a network call uses the heartbeat.
  const trials = ran.map(({ passed, detail, error, latencyMs = null }) => {
    const output = passed ? t.doctor.passed : (error ?? t.doctor.failed);
    return { passed, tried: detail ?? t.doctor.heartbeat, output, remedy: null, latencyMs };
  });
  return { outcome: trials.some(({ passed }) => passed) ? 'passed' : 'failed', trials };
}

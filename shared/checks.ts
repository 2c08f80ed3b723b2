// Separate from the schemas in provider.ts, so that the window does not load Zod.

/** The names of the verification checks, as sent on the wire and shown in the window, in the order in which they are listed. */
export const CHECKS = {
  health: 'health /health status ok',
  engineHealth: 'engine_health ok',
  gpuCount: 'GPU count >0',
  inference: 'test inference returns choices',
  latency: 'latency <10s',
  model: 'model id matches',
} as const;

export type CheckName = (typeof CHECKS)[keyof typeof CHECKS];
export const CHECK_NAMES: readonly CheckName[] = Object.values(CHECKS);

/** The error of a check that was not run. */
export const CHECK_MISSING = 'check missing';

interface CheckResult {
  readonly name: string;
  readonly passed: boolean;
  readonly error?: string | undefined;
}

/** One failed entry of a verification. */
export interface CheckFailure {
  readonly name: string;
  readonly error: string;
}

/** The text of `failure_reason`, which `failuresIn` parses: the failed entries of every name without a passed one. */
export function failureReason(checks: readonly CheckResult[]): string {
  return checks
    .filter(({ name }) => !checks.some((check) => check.passed && check.name === name))
    .map(({ name, error }) => `${name}: ${error ?? 'failed'}`)
    .join('; ');
}

/** The failures in a `failure_reason`, which is all that another gateway sends about its checks. */
export function failuresIn(reason: string): readonly CheckFailure[] {
  const failures: CheckFailure[] = [];
  for (const part of reason.split('; ')) {
    const name = CHECK_NAMES.find((each) => part.startsWith(`${each}: `));
    const last = failures.at(-1);
    if (name !== undefined) failures.push({ name, error: part.slice(name.length + 2) });
    // An error may itself contain `; `.
    else if (last !== undefined)
      failures.splice(-1, 1, { ...last, error: `${last.error}; ${part}` });
  }
  return failures;
}

import { CHECK_NAMES, type CheckName } from '#shared/provider.ts';

/** What the doctor looks at before it does what a registry would do. */
export const GROUND_NAMES = ['engine found', 'agent port bound'] as const;

/** The names of a report, in its order. */
export const DOCTOR_NAMES = [...GROUND_NAMES, ...CHECK_NAMES] as const;

/** One thing that was tried; a name may have several of them, and passes if one passes. */
export interface DoctorEntry {
  readonly name: (typeof GROUND_NAMES)[number] | CheckName;
  readonly passed: boolean;
  /** As a request or a command line. */
  readonly tried: string;
  /** What came back, as it came; cut short. */
  readonly output: string;
  /** What to do; null where it passed. */
  readonly remedy: string | null;
  readonly latencyMs?: number;
}

/** What came of all checks. */
export interface DoctorReport {
  /** Whether every name passes. */
  readonly ok: boolean;
  readonly checks: readonly DoctorEntry[];
}

/** Enough for an error message of an engine. */
const MAX_OUTPUT_CHARS = 600;

/** Somebody else's output, fit to be shown: short, on one line, without commands for a terminal. */
export function shown(output: string): string {
  const plain = output
    .slice(0, 4 * MAX_OUTPUT_CHARS)
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{P}\p{S}]+/gu, ' ')
    .trim();
  return plain.length > MAX_OUTPUT_CHARS ? `${plain.slice(0, MAX_OUTPUT_CHARS)}…` : plain;
}

/** The report of everything that was tried, in the order of the names. */
export function reportOf(entries: readonly DoctorEntry[]): DoctorReport {
  const of = (name: DoctorEntry['name']) => entries.filter((entry) => entry.name === name);
  return {
    ok: DOCTOR_NAMES.every((name) => of(name).some(({ passed }) => passed)),
    checks: DOCTOR_NAMES.flatMap((name) => {
      const all = of(name);
      return all.length > 0 ? all : [missing(name)];
    }),
  };
}

function missing(name: DoctorEntry['name']): DoctorEntry {
  const remedy = 'Mend what failed above first.';
  return { name, passed: false, tried: 'nothing', output: 'check missing', remedy };
}

/** The report for people. */
export function reportText({ ok, checks }: DoctorReport): string {
  const passes = (name: string) => checks.some((check) => check.name === name && check.passed);
  const lines = checks.flatMap((entry) => {
    const { name, tried, output, remedy, latencyMs } = entry;
    const took = latencyMs === undefined ? '' : ` (${latencyMs} ms)`;
    const said = [
      `      tried  ${tried}${took}`,
      ...(output === '' ? [] : [`      got    ${output}`]),
    ];
    return [
      `${markOf(entry, passes(name))} ${name}`,
      ...said,
      ...(remedy === null ? [] : [`      do     ${remedy}`]),
    ];
  });
  const failed = DOCTOR_NAMES.filter((name) => !passes(name)).length;
  const verdict = ok
    ? 'All is well: a gateway that can reach this machine would find the same.'
    : `${failed} of ${DOCTOR_NAMES.length} checks failed. A gateway would not send requests here.`;
  return `${lines.join('\n')}\n\n${verdict}\n`;
}

/** One failed entry of a name that passes by another is worth a look, no more. */
function markOf({ passed }: DoctorEntry, passes: boolean): string {
  if (passed) return '  ok  ';
  return passes ? '  --  ' : 'FAILED';
}

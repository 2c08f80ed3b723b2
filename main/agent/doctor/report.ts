import { DOCTOR_GROUNDS, type DoctorEntry, type DoctorReport } from '#shared/agent.ts';
import { CHECK_MISSING, CHECK_NAMES } from '#shared/provider.ts';

export type { DoctorEntry, DoctorReport };

/** In the order of a report. */
export const DOCTOR_NAMES = [...DOCTOR_GROUNDS, ...CHECK_NAMES] as const;

/** Enough for an error message of an engine. */
const MAX_OUTPUT_CHARS = 600;

/** Makes foreign output fit to be shown: short, on one line, without terminal commands. */
export function shown(output: string): string {
  const plain = output
    .slice(0, 4 * MAX_OUTPUT_CHARS)
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{P}\p{S}]+/gu, ' ')
    .trim();
  return plain.length > MAX_OUTPUT_CHARS ? `${plain.slice(0, MAX_OUTPUT_CHARS)}…` : plain;
}

/** All entries in the order of the names; a check that was not run gets an entry that says so. */
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
  const remedy = 'Fix the failed check above first.';
  return { name, passed: false, tried: 'nothing', output: CHECK_MISSING, remedy };
}

/** The report as text for a terminal. */
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

/** A failed entry whose check passes by another entry is worth a look, no more. */
function markOf({ passed }: DoctorEntry, passes: boolean): string {
  if (passed) return '  ok  ';
  return passes ? '  --  ' : 'FAILED';
}

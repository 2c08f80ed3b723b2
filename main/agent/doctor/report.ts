import {
  DOCTOR_GROUNDS,
  type DoctorEntry,
  type DoctorReport,
  type GatewayVerdict,
} from '#shared/agent.ts';
import { CHECK_MISSING, CHECK_NAMES } from '#shared/checks.ts';
import { excerpt } from '#shared/visible.ts';

export type { DoctorEntry, DoctorReport };

export const DOCTOR_NAMES = [...DOCTOR_GROUNDS, ...CHECK_NAMES] as const;

/** Enough for an engine's error message. */
const MAX_OUTPUT_CHARS = 600;

export const shown = (output: string): string => excerpt(output, MAX_OUTPUT_CHARS);

/** All entries in the order of the names; a check that was not run gets an entry that says so. */
export function reportOf(
  entries: readonly DoctorEntry[],
  gateway: GatewayVerdict | null,
): DoctorReport {
  const of = (name: DoctorEntry['name']) => entries.filter((entry) => entry.name === name);
  return {
    ok:
      gateway?.status !== 'failed' &&
      DOCTOR_NAMES.every((name) => of(name).some(({ passed }) => passed)),
    gateway,
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

export function reportText({ ok, checks, gateway }: DoctorReport): string {
  const passes = (name: string) => checks.some((check) => check.name === name && check.passed);
  const lines = checks.flatMap((entry) => {
    const { name, tried, output, remedy, latencyMs } = entry;
    const took = latencyMs === undefined ? '' : ` (${latencyMs} ms)`;
    const said =
      output === CHECK_MISSING
        ? ['      not run']
        : [`      tried  ${tried}${took}`, ...(output === '' ? [] : [`      got    ${output}`])];
    return [
      `${markOf(entry, passes(name))} ${name}`,
      ...said,
      ...(remedy === null ? [] : [`      do     ${remedy}`]),
    ];
  });
  const failed = DOCTOR_NAMES.filter((name) => !passes(name)).length;
  return `${lines.join('\n')}\n\n${conclusion(ok, failed, gateway)}\n`;
}

function conclusion(ok: boolean, failed: number, gateway: GatewayVerdict | null): string {
  const said = gateway === null ? '' : `${verdictText(gateway)}\n`;
  if (ok) {
    return gateway?.status === 'verified'
      ? `${said}All is well.`
      : `${said}All is well here: a gateway that can reach this machine would find the same.`;
  }
  return failed === 0
    ? `${said}All checks pass from here, so check the addresses and ports in between: the gateway does not reach this machine, or reaches another one.`
    : `${said}${failed} of ${DOCTOR_NAMES.length} checks failed. A gateway would not send requests here.`;
}

function verdictText({ url, status, failure_reason: reason }: GatewayVerdict): string {
  const who = url === null ? "This machine's own gateway" : `The gateway at ${url}`;
  return `${who} says about this machine: ${shown(reason === '' ? status : `${status}: ${reason}`)}.`;
}

/** A failed entry is only a hint if another entry of the same check passes. */
function markOf({ passed }: DoctorEntry, passes: boolean): string {
  if (passed) return '  ok  ';
  return passes ? '  --  ' : 'FAILED';
}

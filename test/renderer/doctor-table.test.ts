import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DoctorEntry } from '#shared/agent.ts';
import type { Check } from '#shared/provider.ts';
import { CHECK_NAMES } from '#shared/checks.ts';
import { reportOf } from '../../main/agent/doctor/report.ts';
import { doctorTable } from '../../renderer/features/this-machine/doctor.tsx';
import { judged, membership } from './agent-builders.ts';

const HEALTH = 'health /health status ok';
const INFERENCE = 'test inference returns choices';
const NAMES = ['engine found', 'agent port bound', ...CHECK_NAMES] as const;

const entry = (name: DoctorEntry['name'], passed = true): DoctorEntry => ({
  name,
  passed,
  tried: `trying ${name}`,
  output: passed ? 'well' : 'sick',
  remedy: passed ? null : 'Fix it.',
});

/** A report in which these fail and all others pass. */
const report = (...failed: readonly DoctorEntry['name'][]) =>
  reportOf(
    NAMES.map((name) => entry(name, !failed.includes(name))),
    null,
  );

const joined = (status: string, reason = '') => ({
  registry: { ...judged(status, reason), kind: 'joined' as const, url: 'http://gateway:47900' },
});
const rowOf = (table: ReturnType<typeof doctorTable>, name: string) => {
  const row = table.rows.find((each) => each.name === name);
  if (row === undefined) throw new Error(`no row ${name}`);
  return row;
};

describe('both views of a machine', () => {
  test('the table of checks has a row for each check, after those that only the machine can make', () => {
    const { rows } = doctorTable(report(), joined('verified'), []);
    expect(rows.map(({ name }) => name)).toEqual(NAMES);
    expect(rows.map(({ gateway }) => gateway.outcome)).toEqual([
      'unasked',
      'unasked',
      ...CHECK_NAMES.map(() => 'passed'),
    ]);
    expect(rows.every(({ here }) => here.outcome === 'passed')).toBe(true);
  });

  test('a check shows what was tried, what came back and what to do', () => {
    const { rows } = doctorTable(report('engine found'), joined('verified'), []);
    expect(rows[0]?.here).toEqual({
      outcome: 'failed',
      trials: [
        {
          passed: false,
          tried: 'trying engine found',
          output: 'sick',
          remedy: 'Fix it.',
          latencyMs: null,
        },
      ],
    });
  });

  test('a check that was not run is shown as neither passed nor failed', () => {
    const table = doctorTable(
      reportOf([], null),
      joined('failed', `${INFERENCE}: check missing; GPU count >0: no GPU reported`),
      [],
    );
    expect(rowOf(table, INFERENCE)).toMatchObject({
      here: { outcome: 'missing' },
      gateway: { outcome: 'missing' },
      note: null,
    });
  });

  test('the gateway’s side of the checks is empty until the gateway has verified the machine', () => {
    for (const status of ['pending', 'verifying']) {
      const { rows, says } = doctorTable(report(), joined(status), []);
      expect(rowOf({ rows, says }, HEALTH).gateway.outcome).toBe('waiting');
      expect(rows.every(({ note }) => note === null)).toBe(true);
      expect(says).toContain('not verified');
    }
    const unheard = { registry: membership({ standing: null }) };
    expect(rowOf(doctorTable(report(), unheard, []), HEALTH).gateway.outcome).toBe('waiting');
  });

  test('the gateway on the machine itself shows each address that it has tried', () => {
    const checks: Check[] = [
      { name: HEALTH, passed: false, error: 'refused', detail: 'GET http://tower:3001/health' },
      { name: HEALTH, passed: true, latencyMs: 3, detail: 'GET http://127.0.0.1:3001/health' },
    ];
    const own = { registry: judged('verified') };
    expect(rowOf(doctorTable(report(), own, checks), HEALTH).gateway).toMatchObject({
      outcome: 'passed',
      trials: [
        { passed: false, tried: 'GET http://tower:3001/health', output: 'refused' },
        { passed: true, latencyMs: 3 },
      ],
    });
    const other = joined('verified');
    expect(rowOf(doctorTable(report(), other, checks), HEALTH).gateway.trials).toEqual([]);
  });
});

test('the gateway’s reason for a failed verification is split into its checks as they were put together', () => {
  const error = fc
    .stringMatching(/^[a-z;: "0-9]{1,30}$/)
    .filter((text) => !/check missing/.test(text));
  const reasons = fc.array(fc.tuple(fc.constantFrom(...CHECK_NAMES), error), { minLength: 1 });
  fc.assert(
    fc.property(reasons, (failed) => {
      const text = failed.map(([name, why]) => `${name}: ${why}`).join('; ');
      const { rows } = doctorTable(report(), joined('failed', text), []);
      for (const name of CHECK_NAMES) {
        const said = failed.flatMap(([other, why]) => (other === name ? [why] : []));
        const row = rows.find((each) => each.name === name);
        expect(row?.gateway.trials.map(({ output }) => output)).toEqual(said);
        expect(row?.gateway.outcome).toBe(said.length > 0 ? 'failed' : 'passed');
      }
    }),
  );
});

describe('checks in which the two sides differ', () => {
  const failing = (...names: readonly string[]) =>
    names.map((name) => `${name}: refused`).join('; ');

  test('a check that passes on the machine only points to a firewall or the address, and later checks wait for it', () => {
    const table = doctorTable(report(), joined('failed', failing(HEALTH, INFERENCE)), []);
    expect(rowOf(table, HEALTH).note).toMatch(/firewall.+INGLENOOK_AGENT_HOST/);
    expect(rowOf(table, INFERENCE).note).toContain('fix its health check first');
    expect(table.says).toContain('not from the gateway');
  });

  test('an engine that failed for the gateway and passes on the machine was busy or loading', () => {
    const table = doctorTable(report(), joined('failed', failing(INFERENCE)), []);
    expect(rowOf(table, INFERENCE).note).toMatch(/busy, or loading/);
  });

  test('a check of what heartbeats report is corrected by the next heartbeat', () => {
    const table = doctorTable(report(), joined('failed', failing('GPU count >0')), []);
    expect(rowOf(table, 'GPU count >0').note).toContain('next one');
  });

  test('the gateway on the machine itself has looked at another time, and no firewall is in between', () => {
    const own = { registry: judged('failed', failing(HEALTH)) };
    expect(rowOf(doctorTable(report(), own, []), HEALTH).note).toContain('Verify now');
  });

  test('a check that fails only on the machine says when the gateway last looked', () => {
    const table = doctorTable(report(INFERENCE), joined('verified'), []);
    expect(rowOf(table, INFERENCE).note).toContain('last checked');
    expect(table.says).toBe('1 of 8 checks failed here.');
  });

  test('checks in which the two sides agree have no note', () => {
    const well = doctorTable(report(), joined('verified'), []);
    const sick = doctorTable(report(HEALTH), joined('failed', failing(HEALTH)), []);
    expect([...well.rows, ...sick.rows].every(({ note }) => note === null)).toBe(true);
    expect(well.says).toBe('All checks passed on both sides.');
  });
});

import { describe, expect, test } from 'vitest';
import { machinesIn } from '#shared/machine-names.ts';
import { matchesFilter } from '#shared/request-filter.ts';
import { labelsOf, labelsWith } from '../../renderer/features/requests/attempt-names.ts';
import { bugReportOf } from '../../renderer/features/requests/bug-report.ts';
import { storyOf } from '../../renderer/features/requests/request-story.ts';
import { whyOf } from '../../renderer/features/requests/request-text.ts';
import { attempt, request, upstream } from './builders.ts';
import { predicted } from './request-builders.ts';

const upstreams = [upstream('local'), upstream('hosted_a')];
const TOWER = 'prv_aaaa1111';
const ATTIC = 'prv_bbbb2222';

describe('a machine in a request', () => {
  const row = predicted();
  const labels = labelsWith(row, labelsOf(upstreams));

  test('goes by the name that it had, whether or not anybody knows it now', () => {
    expect(storyOf(row, labels)).toBe('Local · tower was slow; Local · attic answered first');
  });

  test('goes by the name that it has now, where that is known', () => {
    const renamed = labelsWith(row, labelsOf(upstreams, { [TOWER]: 'den' }));
    expect(storyOf(row, renamed)).toBe('Local · den was slow; Local · attic answered first');
  });

  test('is named where it did not answer, too', () => {
    const left = request('a', {
      fallbackReason: `local/${TOWER}=timeout; local/prv_cccc33334444=http_500`,
      attempts: [attempt({ provider: TOWER, machine: 'tower', endMs: 5, reason: 'timeout' })],
    });
    expect(whyOf(left, labels)).toBe(
      'after Local · tower timed out, Local · prv_cccc3333 HTTP 500',
    );
  });

  test('is found by its name', () => {
    expect(matchesFilter(row, 'all', { text: 'ATTIC' })).toBe(true);
    expect(matchesFilter(row, 'all', { text: 'den' })).toBe(false);
  });

  test('stands in a report with its name and its id, as the fallback reason has it', () => {
    const report = bugReportOf(row, labels, '1.0.0');
    expect(report).toContain(`Local · tower (local/${TOWER}, model not named)`);
    expect(report).toContain(`X-Gateway-Fallback-Reason: local/${TOWER}=outrun`);
  });
});

describe('names of machines', () => {
  const asked = (provider: string, machine: string | null) => attempt({ provider, machine });

  test('are the newest that the requests have', () => {
    const rows = [
      request('c', { attempts: [asked(TOWER, null), asked(ATTIC, 'attic')] }),
      request('b', { attempts: [asked(TOWER, 'den')] }),
      request('a', { attempts: [asked(TOWER, 'tower'), attempt({ upstream: 'hosted_a' })] }),
    ];
    expect(machinesIn(rows)).toEqual({ [TOWER]: 'den', [ATTIC]: 'attic' });
  });

  test('that two have are told apart by their ids', () => {
    const labels = labelsOf(upstreams, { [TOWER]: 'gpu', [ATTIC]: 'gpu', prv_c: 'den' });
    expect([TOWER, ATTIC, 'prv_c'].map((id) => labels.get(id))).toEqual([
      'gpu (prv_aaaa1111)',
      'gpu (prv_bbbb2222)',
      'den',
    ]);
  });
});

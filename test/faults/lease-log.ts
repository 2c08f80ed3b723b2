/** A lease as it stood after each change, by the clock of the database; or a gateway that reported to the others. */
export interface LeaseRow {
  readonly op: 'INSERT' | 'UPDATE' | 'DELETE' | 'REPORT';
  readonly at_ms: number;
  readonly name: string;
  readonly holder: string;
  readonly fence: number;
  /** Null where it was given back. */
  readonly until_ms: number | null;
}

/** Writes down each change of a lease and each report of a gateway, in the database itself. */
export const LOG_LEASES = `
CREATE TABLE public.lease_log (id bigserial PRIMARY KEY, op text, at timestamptz, name text, holder text, fence bigint,
  until timestamptz);
CREATE FUNCTION public.log_lease() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE r inglenook.leases;
BEGIN
  r := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
  INSERT INTO public.lease_log (op, at, name, holder, fence, until)
  VALUES (TG_OP, clock_timestamp(), r.name, r.holder, r.fence, r.until);
  RETURN NULL;
END $$;
CREATE TRIGGER log_lease AFTER INSERT OR UPDATE OR DELETE ON inglenook.leases
  FOR EACH ROW EXECUTE FUNCTION public.log_lease();
CREATE FUNCTION public.log_report() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO public.lease_log (op, at, name, holder, fence) VALUES ('REPORT', clock_timestamp(), '', NEW.run, 0);
  RETURN NULL;
END $$;
CREATE TRIGGER log_report AFTER INSERT OR UPDATE ON inglenook.gateways
  FOR EACH ROW EXECUTE FUNCTION public.log_report();`;

/** From the row after `id`, in order. */
export const readLeaseLog = (id: number) => `
SELECT id::float8 AS id, op, name, holder, fence::float8 AS fence, extract(epoch FROM at)::float8 * 1000 AS at_ms,
  CASE WHEN until = '-infinity' THEN NULL ELSE extract(epoch FROM until)::float8 * 1000 END AS until_ms
FROM public.lease_log WHERE id > ${id} ORDER BY id`;

/**
 * A gateway asks for the sweep as often as it reports, every 2 s. One that has just started reports before it asks, and on
 * a busy machine a report may come sooner than the next question.
 */
const MOST_REPORTS = 5;

/**
 * What shows that two gateways held a lease at the same moment, that a fence did not rise, or that no gateway took the
 * sweep though one that could was there.
 */
export function createLeaseJudge() {
  const last = new Map<string, LeaseRow>();
  /** By gateway: its reports since the sweep was last held. */
  const reports = new Map<string, number>();

  function idle({ holder, at_ms }: LeaseRow): readonly string[] {
    const sweep = last.get('sweep');
    if (sweep === undefined || (sweep.until_ms ?? 0) > at_ms) return [];
    const count = (reports.get(holder) ?? 0) + 1;
    reports.set(holder, count);
    return count === MOST_REPORTS + 1
      ? [`no gateway watched for silence, and ${holder} reported ${count} times meanwhile`]
      : [];
  }

  return (rows: readonly LeaseRow[]): readonly string[] =>
    rows.flatMap((row) => {
      // One that was deleted while it was held is held on.
      if (row.op === 'DELETE') return [];
      if (row.op === 'REPORT') return idle(row);
      if (row.name === 'sweep') reports.clear();
      const before = last.get(row.name);
      last.set(row.name, row);
      return before === undefined ? [] : faultOf(row, before);
    });
}

function faultOf(row: LeaseRow, before: LeaseRow): readonly string[] {
  if (row.holder === before.holder) return [];
  const { name, holder, fence } = row;
  if (before.until_ms !== null && before.until_ms > row.at_ms)
    return [`${name}: ${holder} took it while ${before.holder} had it`];
  if (row.op === 'UPDATE' && fence <= before.fence)
    return [`${name}: fence ${fence} after ${before.fence}`];
  return [];
}

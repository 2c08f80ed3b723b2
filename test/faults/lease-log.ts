/** A lease as it stood after each change, by the clock of the database. */
export interface LeaseRow {
  readonly op: 'INSERT' | 'UPDATE' | 'DELETE';
  readonly at_ms: number;
  readonly name: string;
  readonly holder: string;
  readonly fence: number;
  /** Null where it was given back. */
  readonly until_ms: number | null;
}

/** Writes down each change of a lease, in the database itself. */
export const LOG_LEASES = `
CREATE TABLE public.lease_log (id bigserial PRIMARY KEY, op text, at timestamptz, name text, holder text, fence bigint,
  until timestamptz);
CREATE FUNCTION public.log_lease() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE r switchyard.leases;
BEGIN
  r := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
  INSERT INTO public.lease_log (op, at, name, holder, fence, until)
  VALUES (TG_OP, clock_timestamp(), r.name, r.holder, r.fence, r.until);
  RETURN NULL;
END $$;
CREATE TRIGGER log_lease AFTER INSERT OR UPDATE OR DELETE ON switchyard.leases
  FOR EACH ROW EXECUTE FUNCTION public.log_lease();`;

/** From the row after `id`, in order. */
export const readLeaseLog = (id: number) => `
SELECT id::float8 AS id, op, name, holder, fence::float8 AS fence, extract(epoch FROM at)::float8 * 1000 AS at_ms,
  CASE WHEN until = '-infinity' THEN NULL ELSE extract(epoch FROM until)::float8 * 1000 END AS until_ms
FROM public.lease_log WHERE id > ${id} ORDER BY id`;

/** What shows that two gateways held a lease at the same moment, or that a fence did not rise. */
export function createLeaseJudge() {
  const last = new Map<string, LeaseRow>();
  return (rows: readonly LeaseRow[]): readonly string[] =>
    rows.flatMap((row) => {
      // One that was deleted while it was held is held on.
      if (row.op === 'DELETE') return [];
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

/** For each time that the sweep went from a gateway that was gone to another one: how long nobody had it. */
export function idleSweepsMs(rows: readonly LeaseRow[]): readonly number[] {
  const sweeps = rows.filter(({ name }) => name === 'sweep');
  return sweeps.flatMap((row, at) => {
    const before = sweeps[at - 1];
    if (before === undefined || before.until_ms === null || before.holder === row.holder) return [];
    return [row.at_ms - before.until_ms];
  });
}

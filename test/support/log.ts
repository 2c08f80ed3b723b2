import type { Log } from '../../main/platform/log.ts';

/** A log whose lines are kept, as in `store_rows_left_out {"rows":1}`. */
export function createKeptLog() {
  const lines: string[] = [];
  const log: Log = (_level, event, fields) =>
    void lines.push(`${event} ${JSON.stringify(fields ?? {})}`);
  return { log, lines };
}

import { writeJson } from '../response/answer.ts';
import { otherLines } from '../response/sse-frames.ts';

/** An event with other data; its other lines (a name, a comment) stay. Null where the data is nested too deep. */
export function withData(event: Buffer, data: unknown): Buffer | null {
  const json = writeJson(data);
  if (json === null) return null;
  return Buffer.concat([otherLines(event), Buffer.from(`data: ${json}\n\n`)]);
}

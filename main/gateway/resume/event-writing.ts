import { writeJson } from '../response/answer.ts';

/** An event with other data; its other lines (a name, a comment) stay. Null where the data is nested too deep. */
export function withData(event: Buffer, data: unknown): Buffer | null {
  const json = writeJson(data);
  if (json === null) return null;
  const others = event
    .toString('utf8')
    .split(/\r\n|\n|\r/)
    .filter((line) => line !== '' && !/^data(:|$)/.test(line));
  return Buffer.from([...others, `data: ${json}`, '', ''].join('\n'));
}

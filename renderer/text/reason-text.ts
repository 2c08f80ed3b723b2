import * as t from './t.ts';

const STATUS = /^http_(\d{3})$/;

export function reasonText(reason: string): string {
  const status = STATUS.exec(reason)?.[1];
  return status === undefined ? (t.reasons[reason] ?? reason) : t.httpStatus(status);
}

/** The reason at the start of a circuit's last error, such as `unreachable: nothing listens at …`. */
export const reasonOf = (lastError: string): string => lastError.split(': ', 1)[0] ?? lastError;

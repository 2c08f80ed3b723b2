import { t } from './t.ts';

const STATUS = /^http_(\d{3})$/;

export function reasonText(reason: string): string {
  const status = STATUS.exec(reason)?.[1];
  if (status !== undefined) return t.reasons.httpStatus(status);
  return t.reasons.reasons[reason] ?? reason;
}

export function predicateText(reason: string): string {
  const status = STATUS.exec(reason)?.[1];
  if (status !== undefined) return t.reasons.answeredStatus(status);
  return t.reasons.predicates[reason] ?? t.reasons.failedBecause(reason);
}

/** The reason at the start of a circuit's last error, such as `unreachable: ECONNREFUSED …`. */
export const reasonOf = (lastError: string): string => lastError.split(': ', 1)[0] ?? lastError;

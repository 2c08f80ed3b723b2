import { randomBytes } from 'node:crypto';

/** Tells the requests of this run from those of others; drawn once, for randomness costs 7 µs a time. */
const run = randomBytes(6).toString('hex');
let count = 0;

/** A new id such as `req_1f0c9a2b3d4e00002s`: what a caller can name when something went wrong. */
export function newRequestId(): string {
  count += 1;
  return `req_${run}${count.toString(36).padStart(6, '0')}`;
}

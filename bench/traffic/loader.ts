import { join } from 'node:path';
import { messageOf } from '../../main/platform/errors.ts';
import type { Children } from '../kit/children.ts';
import { startLink } from '../kit/linked.ts';
import type { Job, Outcome, Reply } from './load.ts';

/** Sends load at targets, from its own process. */
export interface Loader {
  /** Does a job; rejects when a single answer was wrong or none came. */
  run(name: string, job: Job): Promise<Outcome>;
}

/** Starts the load generator. */
export async function startLoader(children: Children): Promise<Loader> {
  const load = startLink<Reply>(children, join(import.meta.dirname, 'load.ts'));
  await load.next();
  return {
    async run(name, job) {
      const outcome = (await load.ask(job).catch((error: unknown) => {
        throw new Error(`${name}, ${job.kind}: ${messageOf(error)}`);
      })) as Outcome;
      if (outcome.wrong > 0 || outcome.requests === 0) {
        const counts = `${outcome.wrong} wrong among ${outcome.requests} answers`;
        throw new Error([`${name}, ${job.kind}: ${counts}`, ...outcome.mismatches].join('\n  '));
      }
      return outcome;
    },
  };
}

import type { Child, Children } from '../kit/children.ts';
import type { Job, Outcome, Reply } from './load.ts';
import { join } from 'node:path';

/** Sends load at targets, from its own process. */
export interface Loader {
  /** Does a job; rejects when a single answer was wrong or none came. */
  run(name: string, job: Job): Promise<Outcome>;
}

/** Starts the load generator. */
export async function startLoader(children: Children): Promise<Loader> {
  const child = children.startLinked(join(import.meta.dirname, 'load.ts'));
  await nextMessage(child);
  return {
    async run(name, job) {
      child.process.send(job);
      const reply = (await nextMessage(child)) as Reply;
      if ('error' in reply) throw new Error(`${name}, ${job.kind}: ${reply.error}`);
      const { outcome } = reply;
      if (outcome.wrong > 0 || outcome.requests === 0) {
        const counts = `${outcome.wrong} wrong among ${outcome.requests} answers`;
        throw new Error([`${name}, ${job.kind}: ${counts}`, ...outcome.mismatches].join('\n  '));
      }
      return outcome;
    },
  };
}

function nextMessage({ process: child }: Child): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) =>
      reject(new Error(`the load generator ended with code ${code}`));
    child.once('exit', onExit);
    child.once('message', (message) => {
      child.off('exit', onExit);
      resolve(message);
    });
  });
}

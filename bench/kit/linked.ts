import { once } from 'node:events';
import { basename } from 'node:path';
import type { Children } from './children.ts';

/** What a linked module says where it has no answer. */
export interface LinkFailure {
  readonly error: string;
}

/** Starts a module that answers each message with one; a failure that it tells, and its end, reject. */
export function startLink<Reply extends object | string>(children: Children, file: string) {
  const { process: child } = children.startLinked(file);
  const next = async (): Promise<Reply> => {
    const ended = new AbortController();
    const gone = once(child, 'exit', { signal: ended.signal }).then(([code]) => {
      throw new Error(`${basename(file)} ended with code ${code}`);
    });
    const said = once(child, 'message', { signal: ended.signal });
    try {
      const [reply] = (await Promise.race([said, gone])) as [Reply | LinkFailure];
      if (typeof reply === 'object' && 'error' in reply)
        throw new Error(`${basename(file)}: ${reply.error}`);
      return reply;
    } finally {
      gone.catch(() => {});
      said.catch(() => {});
      ended.abort();
    }
  };
  const ask = (message: Parameters<typeof child.send>[0]) => {
    const reply = next();
    child.send(message);
    return reply;
  };
  const end = async () => {
    const gone = once(child, 'exit');
    child.disconnect();
    await gone;
  };
  return { ask, next, end };
}

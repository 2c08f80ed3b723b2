import { join } from 'node:path';
import type { Log } from '../../platform/log.ts';
import { readKept, writeKeptLater } from './secret-file.ts';

/** Numbers the messages of a key: each number is used once, over restarts and kills too. */
export interface Sequence {
  /** The next number; it waits for the disk once in a block. */
  next(): Promise<number>;
  /** The registry has accepted `last` already: counts on from there. */
  countOnFrom(last: number): void;
}

const FILE = 'agent-sequence';
/** Numbers that are reserved on disk at a time: at a heartbeat in 15 s, one write in four hours. */
const BLOCK = 1000;
/** No registry has heard so many messages; a number beyond is a lie that would end all counting. */
const MAX_FOLLOWED = 2 ** 52;

/** Makes the sequence whose reserve is kept in `directory`. */
export function createSequence(directory: string, log: Log): Sequence {
  const path = join(directory, FILE);
  let last = keptReserve(path);
  let reserved = last;
  let turn: Promise<unknown> = Promise.resolve();

  async function take(): Promise<number> {
    if (last >= reserved) {
      // The disk goes first: a number that was sent must never be below what a restart finds.
      const failure = await writeKeptLater(path, `${last + BLOCK}\n`);
      if (failure === null) reserved = last + BLOCK;
      // A registry refuses a reused number and says where to count on: heartbeats go on meanwhile.
      else log('warn', 'agent_sequence_unwritten', { error: failure });
    }
    last += 1;
    return last;
  }

  return {
    next() {
      const number = turn.then(take);
      turn = number;
      return number;
    },
    countOnFrom(accepted) {
      if (Number.isSafeInteger(accepted) && accepted < MAX_FOLLOWED)
        last = Math.max(last, accepted);
    },
  };
}

function keptReserve(path: string): number {
  const kept = readKept(path);
  const text = kept.kind === 'text' ? kept.text.trim() : '';
  const number = Number(text);
  return /^\d{1,16}$/.test(text) && number < MAX_FOLLOWED ? number : 0;
}

import { join } from 'node:path';
import { createTurns } from '../../platform/async.ts';
import type { Log } from '../../platform/log.ts';
import { readSecretFile, writeSecretFileLater } from './secret-file.ts';

/** Sequence numbers for the messages of a key: each is used once, even across restarts and kills. */
export type Sequence = ReturnType<typeof createSequence>;

const FILE = 'agent-sequence';
/** Numbers reserved on disk at a time: with a heartbeat every 15 s, one write in four hours. */
const BLOCK = 1000;
/** No registry has received this many messages; adopting a higher number would exhaust the range. */
const MAX_FOLLOWED = 2 ** 52;

/** Stores the highest reserved number in `directory`. */
export function createSequence(directory: string, log: Log) {
  const path = join(directory, FILE);
  let last = savedReserve(path);
  let reserved = last;
  const inTurn = createTurns();

  async function take(): Promise<number> {
    if (last >= reserved) {
      // Written first: a number that was sent must never be above the reserved one that a restart finds.
      const failure = await writeSecretFileLater(path, `${last + BLOCK}\n`);
      if (failure === null) reserved = last + BLOCK;
      // A registry refuses a reused number and names the last one, so heartbeats can continue.
      else log('warn', 'agent_sequence_unwritten', { error: failure });
    }
    last += 1;
    return last;
  }

  return {
    /** Waits for the disk once per block. */
    next: () => inTurn(take),
    /** Continues after `last`, which the registry has already accepted. */
    countOnFrom(accepted: number) {
      if (Number.isSafeInteger(accepted) && accepted < MAX_FOLLOWED)
        last = Math.max(last, accepted);
    },
  };
}

function savedReserve(path: string): number {
  const saved = readSecretFile(path);
  const text = saved.kind === 'text' ? saved.text.trim() : '';
  const number = Number(text);
  return /^\d{1,16}$/.test(text) && number < MAX_FOLLOWED ? number : 0;
}

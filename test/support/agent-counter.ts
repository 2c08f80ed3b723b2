import { writeSync } from 'node:fs';
import { createSequence } from '../../main/agent/storage/sequence.ts';
import { silentLog } from '../../main/platform/log.ts';

/* Prints one number of an agent's sequence after the other for as long as it lives. */

const sequence = createSequence(process.argv[2] ?? '', silentLog);
for (;;) writeSync(1, `${await sequence.next()}\n`);

import { createSequence } from '../../main/agent/storage.ts';
import { silentLog } from '../../main/platform/log.ts';
import { print } from './print.ts';

/* Prints one number of an agent's sequence after the other for as long as it lives. */

const sequence = createSequence(process.argv[2] ?? '', silentLog);
for (;;) print(`${await sequence.next()}`);

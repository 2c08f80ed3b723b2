import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Loader } from './loader.ts';
import { median } from './numbers.ts';
import { rssMb } from './proc.ts';
import type { Gateway } from './targets.ts';

/** What very many requests left behind. */
export interface SoakFigures {
  readonly requests: number;
  readonly failed: number;
  readonly beforeMb: number;
  readonly afterMb: number;
}

/** Requests in all, in batches, so that memory is seen on the way. */
const REQUESTS = 1_000_000;
const BATCHES = 40;
/** The heap takes its shape first; what it takes then is no growth. */
const WARM_UP_BATCHES = 6;
/** Memory goes up and down with the collector: so many looks make one figure. */
const LOOKS = 5;
const CONNECTIONS = 32;
/** No batch runs for longer, whatever the machine does meanwhile. */
const MOST_BATCH_MS = 60_000;

/** Sends a million requests, half of which fail, at a gateway whose `local` refuses every connection. */
export async function soak(target: Gateway, loader: Loader): Promise<SoakFigures> {
  const { pid } = target.child;
  const looks: number[] = [];
  let [requests, failed] = [0, 0];
  const send = async (kind: 'plain' | 'failing') => {
    const each = Math.ceil(REQUESTS / BATCHES / 2 / CONNECTIONS);
    const job = { kind, port: target.port, pid, connections: CONNECTIONS, spreadMs: 0 };
    return loader.run('soak', { ...job, requestsEach: each, ms: MOST_BATCH_MS });
  };
  for (let batch = 0; batch < BATCHES + WARM_UP_BATCHES; batch += 1) {
    // A million failures in a row open even the most patient circuit.
    await closeCircuit(target);
    const outcomes = [await send('plain'), await send('failing')];
    if (batch < WARM_UP_BATCHES) continue;
    requests += outcomes.reduce((sum, outcome) => sum + outcome.requests, 0);
    failed += outcomes[1]?.requests ?? 0;
    looks.push(rssMb(pid));
  }
  return {
    requests,
    failed,
    beforeMb: median(looks.slice(0, LOOKS)),
    afterMb: median(looks.slice(-LOOKS)),
  };
}

async function closeCircuit({ port, dataDirectory }: Gateway): Promise<void> {
  const token = readFileSync(join(dataDirectory, 'control-token'), 'utf8').trim();
  const reset = await fetch(`http://127.0.0.1:${port}/api/v1/circuits/local/reset`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  });
  if (!reset.ok) throw new Error(`the circuit could not be reset: ${reset.status}`);
}

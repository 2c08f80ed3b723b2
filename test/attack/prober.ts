import { get, Agent } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';

/** Asks for `/healthz` again and again from a thread of its own, and tells how long each answer took. */
const { url } = workerData as { readonly url: string };
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const PAUSE_MS = 20;

function probe(): void {
  const startedAt = performance.now();
  const next = () => {
    // The empty transfer list shows the linter that this is not a window.
    parentPort?.postMessage(performance.now() - startedAt, []);
    setTimeout(probe, PAUSE_MS);
  };
  get(`${url}/healthz`, { agent }, (res) => res.resume().on('end', next)).on('error', next);
}

probe();

// A process that has no descriptor left, and asks the well server at the given port in every way. Says what it makes of that.
import { openSync } from 'node:fs';
import { lookAt } from '../../main/engines/detect.ts';
import { fetchModels } from '../../main/gateway/upstream/model-catalogue.ts';
import { parseBaseAddress } from '../../main/gateway/upstream/upstreams.ts';
import { systemClock as clock } from '../../main/platform/clock.ts';
import { createHttpClient } from '../../main/platform/http/client.ts';
import { fetchBody } from '../../main/platform/http/fetch-body.ts';
import { resolveChecked, systemLookup } from '../../main/platform/network-guard.ts';

const port = Number(process.argv[2]);
const origin = `http://127.0.0.1:${port}`;
const edges = { http: createHttpClient(), clock };
const engine = { origin, basePath: '', authorization: null };
const policy = { loopback: true, ports: [port], loopbackPorts: [port] };
const source = { apiKey: null, headers: {} } as const;

const ask = async (scheme = 'http') => {
  const hosted = parseBaseAddress(`${scheme}://127.0.0.1:${port}`, 'hosted_a');
  const name = new URL(`http://localhost:${port}`);
  const get = { origin, path: '/health', headers: [], timeoutMs: 5000, maxBytes: 1000 };
  const fetched = await fetchModels({ baseAddress: hosted, ...source }, edges);
  return {
    engine: (await lookAt(engine, false, { ...edges, memory: new Map() })).kind,
    name: (await resolveChecked(name, policy, systemLookup)).kind,
    machine: (await fetchBody(get, edges)).kind,
    models: fetched.kind === 'failed' ? fetched.reason : fetched.kind,
  };
};

const before = await ask();
// OpenSSL complains on stderr of certificates that it cannot read, so they are read before.
await ask('https');
edges.http.close();
edges.http = createHttpClient();
try {
  for (;;) openSync('/dev/null', 'r');
} catch {
  // There is none left.
}
const without = await ask();
const overTls = (await ask('https')).models;
process.stdout.write(`${JSON.stringify({ before, without, overTls })}\n`, () => process.exit(0));

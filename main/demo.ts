import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { stopOnSignal } from './app/shutdown.ts';
import { type Demo, startDemo } from './demo/demo.ts';

const JSON_TYPE = `-H 'Content-Type: application/json'`;
const BODY = `'{"model":"any","stream":true,"max_tokens":200,"messages":[{"role":"user","content":"Hello"}]}'`;

function banner({ baseUrl, url, link }: Demo, tokenFile: string): string {
  const fault = `${url}/api/v1/demo/faults/local -H "Authorization: Bearer $(cat ${tokenFile})"`;
  const ask = `curl -iN ${baseUrl}/chat/completions ${JSON_TYPE} -d ${BODY}`;
  return `
Inglenook demo: the real gateway over five demo upstreams on loopback sockets.
Every answer is canned text, made by no model; nothing leaves this machine.

Dashboard ${link}
Base URL  ${baseUrl}

Try, in another terminal: an answer from local, one in the Anthropic Messages API, and one with local broken.
X-Gateway-Upstream and X-Gateway-Fallback-Reason say what happened.
${ask}
curl -iN ${baseUrl}/messages ${JSON_TYPE} -d ${BODY}
curl -sS -o /dev/null -X PUT ${fault} ${JSON_TYPE} -d '{"fault":"refuse"}' && ${ask}

The dashboard's link signs in as often as it is opened. Ctrl+C ends the demo.
`;
}

// Runs until a signal stops it.
const { values } = parseArgs({ options: { port: { type: 'string' } } });
const port = values.port ?? process.env['INGLENOOK_PORT'];
const dataDirectory = mkdtempSync(join(tmpdir(), 'inglenook-demo-'));
process.on('exit', () => rmSync(dataDirectory, { recursive: true, force: true }));
const demo = await startDemo({ port, dataDirectory });
demo.traffic.set(true);
stopOnSignal(
  () => demo.stop(),
  () => {},
);
process.stdout.write(`${banner(demo, join(dataDirectory, 'control-token'))}\n`);

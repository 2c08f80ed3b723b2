import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { isUpstreamId, UPSTREAM_IDS } from '#shared/ids.ts';
import { DEMO_FAULTS } from '#shared/live.ts';
import { stopOnSignal } from '../app/shutdown.ts';
import { type Demo, isDemoFault, startDemo } from './demo.ts';

const say = (text: string) => process.stdout.write(`${text}\n`);

/** Runs the demo in this terminal until a signal stops it. */
export async function runDemo(): Promise<void> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'inglenook-demo-'));
  process.on('exit', () => rmSync(dataDirectory, { recursive: true, force: true }));
  const demo = await startDemo({ port: process.env['INGLENOOK_PORT'], dataDirectory });
  const commands = createInterface({ input: process.stdin });
  demo.traffic.set(true);
  commands.on('line', (line) => void runCommand(line, demo).then(say));
  stopOnSignal(() => {
    commands.close();
    return demo.stop();
  }, say);
  say(banner({ ...demo, tokenFile: join(dataDirectory, 'control-token') }));
}

const BODY = `'{"model":"any","messages":[{"role":"user","content":"Hello"}]}'`;
const STREAM_BODY = `'{"model":"any","stream":true,"messages":[{"role":"user","content":"Hello"}]}'`;
const MESSAGES_BODY = `'{"model":"any","stream":true,"max_tokens":200,"messages":[{"role":"user","content":"Hello"}]}'`;
const RESPONSES_BODY = `'{"model":"any","input":"Hello"}'`;
const JSON_TYPE = `-H 'Content-Type: application/json'`;

function banner(where: {
  readonly baseUrl: string;
  readonly url: string;
  readonly link: string;
  readonly tokenFile: string;
}): string {
  const chat = `${where.baseUrl}/chat/completions`;
  const fault = `${where.url}/api/v1/demo/faults/local`;
  const token = `-H "Authorization: Bearer $(cat ${where.tokenFile})"`;
  return `
Inglenook demo: the real gateway over five demo upstreams on loopback sockets.
Every answer is canned text, made by no model; nothing leaves this machine.

Dashboard ${where.link}
Base URL  ${where.baseUrl}

Try, in another terminal:

1. A plain answer, from local:
curl -i ${chat} ${JSON_TYPE} -d ${BODY}

2. A streamed one:
curl -iN ${chat} ${JSON_TYPE} -d ${STREAM_BODY}

3. Break local, then ask again: X-Gateway-Upstream and X-Gateway-Fallback-Reason say what happened.
curl -sS -o /dev/null -X PUT ${fault} ${token} ${JSON_TYPE} -d '{"fault":"refuse"}' && curl -iN ${chat} ${JSON_TYPE} -d ${STREAM_BODY}

4. In the Anthropic Messages API, and in OpenAI's Responses API; the upstreams speak chat completions only, so both are translated:
curl -iN ${where.baseUrl}/messages ${JSON_TYPE} -d ${MESSAGES_BODY}
curl -i ${where.baseUrl}/responses ${JSON_TYPE} -d ${RESPONSES_BODY}

Or type here:  ${COMMAND_HELP}
For example:   break local cut                         (another continues its answer)
               break local, then break hosted_a slow   (hosted_b is called as well)
Enter prints the dashboard's link again; it signs in as often as it is opened. Ctrl+C ends it.
`;
}

const COMMAND_HELP = `break <upstream> [${DEMO_FAULTS.filter((fault) => fault !== 'none').join('|')}]   heal <upstream>|all   traffic on|off`;

type DemoControls = Pick<Demo, 'faults' | 'traffic' | 'newLink'>;

/** Runs a line typed into the demo; returns the text to print. */
export async function runCommand(
  line: string,
  { faults, traffic, newLink }: DemoControls,
): Promise<string> {
  const [verb = '', id = '', fault = 'refuse'] = line.trim().split(/\s+/);
  if (verb === '') return `Dashboard ${newLink()}`;
  if (verb === 'traffic' && (id === 'on' || id === 'off')) {
    traffic.set(id === 'on');
    return `traffic is ${id}`;
  }
  if (verb === 'heal' && id === 'all') {
    for (const each of UPSTREAM_IDS) await faults.set(each, 'none');
    return 'all upstreams are healthy';
  }
  if (verb === 'heal' && isUpstreamId(id)) {
    await faults.set(id, 'none');
    return `${id} is healthy`;
  }
  if (verb === 'break' && isUpstreamId(id) && isDemoFault(fault)) {
    await faults.set(id, fault);
    return `${id}: ${fault}`;
  }
  return `Not understood. ${COMMAND_HELP}   (upstreams: ${UPSTREAM_IDS.join(', ')})`;
}

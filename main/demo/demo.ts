import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { HOSTED_IDS, UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import { DEMO_FAULTS } from '#shared/live.ts';
import { createHost, type Host, WINDOW_DIRECTORY } from '../app/app.ts';
import { stopOnSignal } from '../app/shutdown.ts';
import { loadConfig } from '../config/load.ts';
import { systemClock } from '../platform/clock.ts';
import { silentLog } from '../platform/log.ts';
import { openStore } from '../registry/store/open-store.ts';
import { openUsageStore } from '../gateway/usage/store.ts';
import { DEMO_MODEL } from './answers.ts';
import { createDemoEngine, type DemoEngine } from './engine.ts';
import {
  createFaults,
  faultRoutes,
  type Faults,
  isDemoFault,
  isUpstreamId,
} from './fault-routes.ts';

const say = (text: string) => process.stdout.write(`${text}\n`);

/** Runs the gateway over demo upstreams until a signal ends it. */
export async function runDemo(): Promise<void> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'switchyard-demo-'));
  process.on('exit', () => rmSync(dataDirectory, { recursive: true, force: true }));
  const engines = UPSTREAM_IDS.map((id) =>
    createDemoEngine(id, { isCold: id === 'ondemand', speaksChatOnly: id === 'local' }),
  );
  await Promise.all(engines.map((engine) => engine.start()));
  const faults: Faults = createFaults(engines, () => host.changed());
  const { host, baseUrl, url } = await startHost(engines, faults, dataDirectory);
  const commands = createInterface({ input: process.stdin });
  commands.on('line', (line) => void runCommand(line, faults).then(say));
  stopOnSignal(async () => {
    commands.close();
    await host.stop();
    await Promise.all(engines.map((engine) => engine.stop()));
  }, say);
  say(
    banner({
      baseUrl,
      url,
      link: host.controlLink(),
      tokenFile: join(dataDirectory, 'control-token'),
    }),
  );
}

interface StartedHost {
  readonly host: Host;
  readonly url: string;
  readonly baseUrl: string;
}

/** On the default port; on any free one if that is in use and none was configured. */
async function startHost(
  engines: readonly DemoEngine[],
  faults: Faults,
  dataDirectory: string,
): Promise<StartedHost> {
  const configured = process.env['SWITCHYARD_PORT'];
  try {
    return await startHostOn(configured ?? '47900', engines, faults, dataDirectory);
  } catch (error) {
    if (configured !== undefined) throw error;
    return startHostOn('0', engines, faults, dataDirectory);
  }
}

async function startHostOn(
  port: string,
  engines: readonly DemoEngine[],
  faults: Faults,
  dataDirectory: string,
): Promise<StartedHost> {
  const loaded = loadConfig(demoEnvironment(engines, port), {});
  if (loaded.kind === 'refused') throw new Error(loaded.problems.join('\n'));
  const demo = { routes: faultRoutes(faults), view: () => ({ faults: faults.view() }) };
  const host = await createHost(
    { loaded, dataDirectory, windowDirectory: WINDOW_DIRECTORY, demo },
    {
      openStore,
      openUsage: openUsageStore,
      clock: systemClock,
      random: Math.random,
      log: silentLog,
    },
  );
  return { host, ...(await host.start()) };
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
Switchyard demo: the real gateway over five demo upstreams on loopback sockets.
Every answer is canned text, made by no model; nothing leaves this machine.

Window   ${where.link}
Base URL ${where.baseUrl}

Try, in another terminal:

1. A plain answer, from local:
curl -i ${chat} ${JSON_TYPE} -d ${BODY}

2. A streamed one:
curl -iN ${chat} ${JSON_TYPE} -d ${STREAM_BODY}

3. Break local, then ask again: X-Gateway-Upstream and X-Gateway-Fallback-Reason say what happened.
curl -sS -o /dev/null -X PUT ${fault} ${token} ${JSON_TYPE} -d '{"fault":"refuse"}' && curl -iN ${chat} ${JSON_TYPE} -d ${STREAM_BODY}

4. In the Anthropic Messages API, and in OpenAI's Responses API; local speaks chat completions only, so both are translated:
curl -iN ${where.baseUrl}/messages ${JSON_TYPE} -d ${MESSAGES_BODY}
curl -i ${where.baseUrl}/responses ${JSON_TYPE} -d ${RESPONSES_BODY}

Or type here:  ${COMMAND_HELP}
Such as:       break local cut                         (another continues its answer)
               break local, then break hosted_a slow   (hosted_b is called beside it)
Ctrl+C ends it.
`;
}

const COMMAND_HELP = `break <upstream> [${DEMO_FAULTS.filter((fault) => fault !== 'none').join('|')}]   heal <upstream>|all`;

/** Runs a line typed into the demo; returns the text to print. */
async function runCommand(line: string, faults: Faults): Promise<string> {
  const [verb = '', id = '', fault = 'refuse'] = line.trim().split(/\s+/);
  if (verb === '') return '';
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

/** The demo's whole configuration as environment variables; the user's own settings are not read. */
function demoEnvironment(engines: readonly DemoEngine[], port: string): Record<string, string> {
  const urls = new Map(engines.map((engine) => [engine.id, engine.url()]));
  const remote = (id: UpstreamId, path: string, prefix = id.toUpperCase()) => ({
    [`SWITCHYARD_${prefix}_BASE_URL`]: `${urls.get(id) ?? ''}${path}`,
    [`SWITCHYARD_${prefix}_API_KEY`]: `demo-key-of-${id}-0123456789`,
    [`SWITCHYARD_${prefix}_MODEL`]: DEMO_MODEL,
    [`SWITCHYARD_${prefix}_PREFILL`]: 'continue_final_message',
  });
  return {
    SWITCHYARD_PORT: port,
    // The demo brings its own local engine.
    SWITCHYARD_AGENT: 'false',
    SWITCHYARD_LOCAL_ENGINE_URL: urls.get('local') ?? '',
    ...Object.fromEntries(HOSTED_IDS.flatMap((id) => Object.entries(remote(id, '/v1')))),
    ...remote('ondemand', ''),
    // The default of 30 s suits engines, but is long for a person watching a stall.
    SWITCHYARD_IDLE_TIMEOUT_MS: '8000',
    // Well before a slow demo upstream answers, and without a budget, so that it can be tried repeatedly.
    SWITCHYARD_HEDGE_MS: '2000',
    SWITCHYARD_HEDGE_BUDGET: '100',
  };
}

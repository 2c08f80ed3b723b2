import { AGENT_PORTS, type AgentView, type GatewayVerdict } from '#shared/agent.ts';
import { runChecks } from '../agent/doctor/doctor.ts';
import { reportText } from '../agent/doctor/report.ts';
import { savedIdentity } from '../agent/doctor/saved-identity.ts';
import { pinnedAddress } from '../agent/engines/addresses.ts';
import { createEnrollmentFile } from '../agent/storage/enrollment-file.ts';
import { createTelemetry } from '../agent/telemetry/telemetry.ts';
import { dataDirectory } from '../config/data-directory.ts';
import { loadConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { readSettings } from '../config/settings-file.ts';
import { systemClock } from '../platform/clock.ts';
import { createHttpClient } from '../platform/http/client.ts';
import { callRunning, findRunning } from './running-app.ts';

/**
 * Runs the registry's checks from this machine's side, and prints the requests, the results and the remedies.
 * Exit code 0 if all pass, otherwise 1.
 */
export async function runDoctor(env: NodeJS.ProcessEnv, asJson: boolean): Promise<void> {
  const directory = dataDirectory(env, process.platform);
  const loaded = loadConfig(env, readSettings(directory, Date.now()).tree);
  if (loaded.kind === 'refused') {
    process.stderr.write(`${loaded.problems.join('\n')}\n`);
    process.exitCode = 1;
    return;
  }
  const { agent, gateway } = loaded.config;
  const pinned =
    agent.engineUrl === null ? null : pinnedAddress(agent.engineUrl, agent.engineApiKey);
  if (pinned?.kind === 'invalid') {
    process.stderr.write(`SWITCHYARD_ENGINE_URL cannot be used. ${pinned.message}\n`);
    process.exitCode = 1;
    return;
  }
  const http = createHttpClient();
  const telemetry = createTelemetry({ env, platform: process.platform, clock: systemClock });
  telemetry.start();
  const report = await runChecks({
    http,
    clock: systemClock,
    telemetry,
    engines: { pinned: pinned?.address ?? null, ownPorts: [...agent.ports, gateway.port] },
    agent: expectedAgent(directory, agent),
    gateway: await verdictNow(directory),
  });
  process.stdout.write(asJson ? `${JSON.stringify(report, null, 2)}\n` : reportText(report));
  process.exitCode = report.ok ? 0 : 1;
  await Promise.all([telemetry.stop(), http.close()]);
}

function expectedAgent(directory: string, { enabled, host, ports }: Config['agent']) {
  const identity = savedIdentity(directory);
  const file = createEnrollmentFile(directory, systemClock, process.platform);
  const { enrolment } = file.load();
  return {
    isEnabled: enabled,
    host,
    ports,
    privateKey: identity?.privateKey ?? null,
    id: identity?.id ?? null,
    gatewayToken: enrolment?.gatewayToken ?? null,
    registryUrl: enrolment?.registryUrl ?? null,
    gatewayPorts: AGENT_PORTS,
    taken: new Map(),
  };
}

/** What the gateway has answered to the Switchyard that runs here; null where none does. */
async function verdictNow(directory: string): Promise<GatewayVerdict | null> {
  const running = findRunning(directory);
  if (running === null) return null;
  const { body, error } = await callRunning(running, { method: 'GET', path: 'agent' });
  if (error !== null) return null;
  // The same program answered, so its shape is known.
  const { kind, url, standing } = (body as unknown as AgentView).registry;
  return standing === null
    ? null
    : { url: kind === 'joined' ? url : null, ...standing.verification };
}

import { AGENT_PORTS } from '#shared/agent.ts';
import { runChecks } from '../agent/doctor/doctor.ts';
import { type DoctorReport, reportText } from '../agent/doctor/report.ts';
import { enginePlace } from '../agent/engines/watch.ts';
import { createEnrollmentFile, savedIdentity } from '../agent/storage.ts';
import { createTelemetry } from '../agent/telemetry/telemetry.ts';
import { loadSavedConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { systemClock } from '../platform/clock.ts';
import { createHttpClient } from '../platform/http/client.ts';
import { answer, type CommandOutcome, EXIT, failed, type Input } from './command.ts';
import { callRunning, findRunning, type Running } from './running-app.ts';
import { withProgress } from './terminal.ts';

/** Enough to load a model on a slow machine and run a test inference. */
const TIMEOUT_MS = 300_000;

export async function runDoctor({ env, dataDirectory }: Input): Promise<CommandOutcome> {
  const running = await findRunning(dataDirectory);
  const checked = await withProgress(
    'Checking this machine',
    running === null ? checkHere(env, dataDirectory) : checkThere(running),
  );
  if ('kind' in checked) return checked;
  return answer(checked, reportText(checked), checked.ok ? EXIT.done : EXIT.failed);
}

async function checkThere(running: Running): Promise<DoctorReport | CommandOutcome> {
  const call = { method: 'POST', path: 'agent/doctor', timeoutMs: TIMEOUT_MS } as const;
  const { body, error } = await callRunning<DoctorReport>(running, call);
  return error === null ? body : failed(error);
}

async function checkHere(
  env: NodeJS.ProcessEnv,
  directory: string,
): Promise<DoctorReport | CommandOutcome> {
  const loaded = loadSavedConfig(env, directory);
  if (loaded.kind === 'refused') return failed(loaded.problems.join('\n'));
  const { agent, gateway } = loaded.config;
  const http = createHttpClient();
  const telemetry = createTelemetry({ env, platform: process.platform, clock: systemClock });
  telemetry.start();
  const report = await runChecks({
    http,
    clock: systemClock,
    telemetry,
    engines: { ...enginePlace(agent), ownPorts: [...agent.ports, gateway.port] },
    agent: expectedAgent(directory, agent),
    // No Inglenook runs here, so no gateway has answered one.
    gateway: null,
  });
  await telemetry.stop();
  http.close();
  return report;
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

import currentProcess, { argv, env, exit, stdout } from 'node:process';
import { cpu, graphics, system } from 'systeminformation';

/**
 * Runs systeminformation in a separate process, prints its answers as JSON and exits, because some of its calls block
 * and it runs vendors' tools without a timeout. Its only arguments are the topics below.
 */
const TOPICS = {
  machine: async () => {
    const [{ manufacturer, model }, { performanceCores, efficiencyCores }] = await Promise.all([
      system(),
      cpu(),
    ]);
    return { manufacturer, model, performanceCores, efficiencyCores };
  },
  graphics: async () => (await graphics()).controllers,
};

export type HelperTopic = keyof typeof TOPICS;

// systeminformation runs clinfo for names and sizes that other sources report better. Without a list of OpenCL drivers
// clinfo exits at once; with one it wakes every card.
env['OCL_ICD_VENDORS'] = '/dev/null';

const wanted = Object.entries(TOPICS).filter(([topic]) => argv.includes(topic));
const answers = await Promise.all(wanted.map(async ([topic, ask]) => [topic, await ask()]));
const text = JSON.stringify(Object.fromEntries(answers));
// In Electron, the app receives the answer as a message and kills the process.
interface ParentPort {
  postMessage(message: string, transfer: readonly []): void;
}
const { parentPort } = currentProcess as { parentPort?: ParentPort };
if (parentPort === undefined) {
  // On Windows, systeminformation keeps a PowerShell running, which would keep this process alive.
  stdout.write(text, () => exit(0));
} else {
  // The empty list shows the linter that this is not a window.
  parentPort.postMessage(text, []);
}

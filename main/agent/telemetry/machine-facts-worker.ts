import { parentPort, workerData } from 'node:worker_threads';
import { cpu, graphics, system } from 'systeminformation';

/**
 * Reads unchanging facts through systeminformation, in a thread of its own, because some of its calls
 * block. It gets no input from outside, which is where its past vulnerabilities were.
 */
async function ask(): Promise<void> {
  const [machine, processor] = await Promise.all([system(), cpu()]);
  const isGraphicsWanted = workerData === 'graphics';
  // On other systems it runs nvidia-smi without a time-out, and counts a server's display chip as a GPU.
  const controllers = isGraphicsWanted ? (await graphics()).controllers : [];
  const answer = {
    manufacturer: machine.manufacturer,
    model: machine.model,
    performanceCores: processor.performanceCores,
    efficiencyCores: processor.efficiencyCores,
    controllers: controllers.map(({ vendor, model, vram, vramDynamic, busAddress }) => ({
      vendor,
      model,
      vram,
      vramDynamic,
      busAddress,
    })),
  };
  // The empty transfer list shows the linter that this is not a window.
  parentPort?.postMessage(answer, []);
}

await ask();

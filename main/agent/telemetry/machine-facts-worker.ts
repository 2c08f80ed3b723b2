import { parentPort, workerData } from 'node:worker_threads';
import { cpu, graphics, system } from 'systeminformation';

/**
 * Asks systeminformation for what does not change, in a thread of its own, because some of its calls
 * block the one they run in. It is given no words from outside: that is where its past holes were.
 */
async function ask(): Promise<void> {
  const [machine, processor] = await Promise.all([system(), cpu()]);
  const isGraphicsWanted = workerData === 'graphics';
  // On other systems it runs nvidia-smi without a time-out, and counts a server's screen chip as a GPU.
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
  // The empty list of transfers tells the linter that this is no window.
  parentPort?.postMessage(answer, []);
}

await ask();

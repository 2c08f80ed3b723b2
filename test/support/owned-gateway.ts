import { onTestFinished } from 'vitest';
import { claimDataDirectory } from '../../main/platform/data-lock.ts';
import { startGateway, type TestGateway } from './gateway.ts';

/**
 * Starts a gateway in this process that commands find, as `switchyard start` lets them: it costs a tenth of the
 * processor time of a program of its own.
 */
export async function startOwned(...args: Parameters<typeof startGateway>): Promise<TestGateway> {
  const gateway = await startGateway(...args);
  const claim = claimDataDirectory(gateway.dataDirectory, Date.now());
  if (claim.kind === 'taken') throw new Error('the data directory has another owner');
  claim.lock.listensAt(gateway.url);
  onTestFinished(() => claim.lock.release());
  return gateway;
}

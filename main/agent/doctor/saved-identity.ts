import { createPrivateKey, type KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { providerIdOf, publicKeyOf } from '../../platform/agent-identity.ts';
import { readKept } from '../storage/secret-file.ts';

/**
 * The key of the agent whose files are in `directory`; unlike the agent, it neither creates nor repairs
 * anything.
 */
export function savedIdentity(
  directory: string,
): { readonly id: string; readonly privateKey: KeyObject } | null {
  const kept = readKept(join(directory, 'agent-key.pem'));
  if (kept.kind !== 'text') return null;
  try {
    const privateKey = createPrivateKey(kept.text);
    return { id: providerIdOf(publicKeyOf(privateKey)), privateKey };
  } catch {
    return null;
  }
}

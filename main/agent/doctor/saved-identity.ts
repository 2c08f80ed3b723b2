import { createPrivateKey, type KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { providerIdOf, publicKeyOf } from '../../platform/agent-identity.ts';
import { readSecretFile } from '../storage/secret-file.ts';

/**
 * The key of the agent whose files are in `directory`; unlike the agent, it neither creates nor repairs
 * anything.
 */
export function savedIdentity(
  directory: string,
): { readonly id: string; readonly privateKey: KeyObject } | null {
  const saved = readSecretFile(join(directory, 'agent-key.pem'));
  if (saved.kind !== 'text') return null;
  try {
    const privateKey = createPrivateKey(saved.text);
    return { id: providerIdOf(publicKeyOf(privateKey)), privateKey };
  } catch {
    return null;
  }
}

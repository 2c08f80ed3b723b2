/** Why npm could not fetch anything, from the error of a program that ran it; null for another failure. */
export function unreachableRegistry(error: unknown): string | null {
  const { stderr = '' } = error as { readonly stderr?: string };
  const isOffline = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENOTCACHED|CERT|network/i;
  if (!isOffline.test(stderr)) return null;
  return `the npm registry cannot be reached: ${stderr.split('\n')[0] ?? ''}`;
}

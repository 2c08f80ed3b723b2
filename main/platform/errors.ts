/** The message, for texts that users read. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The name, for logs: a message may quote what a caller sent. */
export function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown';
}

/** Such as `ENOENT`; null if it has none. */
export function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : null;
}

/** Whether no file descriptor was left: an error of this machine, which says nothing about the other side. */
export function isExhausted(error: unknown): boolean {
  const code = codeOf(error);
  // With nss-mdns, which most desktops have, glibc returns EBUSY for a lookup that finds no free descriptor.
  if (code === 'EBUSY') return (error as NodeJS.ErrnoException).syscall === 'getaddrinfo';
  // The process, or the system, has reached its limit of open files.
  return code === 'EMFILE' || code === 'ENFILE';
}

/** For EHOSTUNREACH, which is also what macOS answers an app that it lets nowhere in the local network. */
export const localNetworkHint = (platform: NodeJS.Platform = process.platform): string =>
  platform === 'darwin'
    ? '; if others reach it, allow Inglenook in System Settings > Privacy & Security > Local Network'
    : '';

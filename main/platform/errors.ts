/** For people. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** For logs: the message of an error may quote what a caller sent. */
export function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown';
}

/** Such as `ENOENT`; null if it has none. */
export function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : null;
}

/** Codes for a limit of open files, of the process and of the system. */
const EXHAUSTED: ReadonlySet<string | null> = new Set(['EMFILE', 'ENFILE']);

/** Whether an error is about this process or machine, and says nothing about the other side. */
export function isExhausted(error: unknown): boolean {
  const code = codeOf(error);
  // With mDNS among its sources of names (nss-mdns, on most desktops), glibc says this of a lookup without a descriptor.
  if (code === 'EBUSY') return (error as NodeJS.ErrnoException).syscall === 'getaddrinfo';
  return EXHAUSTED.has(code);
}

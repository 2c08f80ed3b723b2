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

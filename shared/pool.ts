/** A gateway of a pool that has not reported to the database for this long is gone, or disconnected from it. */
export const SILENT_MS = 10_000;

/** A gateway of a pool that has not reported to the database for so long is gone, or cut off from it. */
export const SILENT_MS = 10_000;

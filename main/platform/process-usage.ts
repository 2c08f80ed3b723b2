/** What this process takes of its machine. */
export interface ProcessUsage {
  readonly residentBytes: number;
  /** User and system time since it began. */
  readonly cpuSeconds: number;
}

/** Reads it; cheap enough to be asked at any time. */
export function processUsage(): ProcessUsage {
  const { user, system } = process.cpuUsage();
  return { residentBytes: process.memoryUsage.rss(), cpuSeconds: (user + system) / 1e6 };
}

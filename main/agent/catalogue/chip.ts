/** How much a chip is worth for inference: by memory bandwidth, which decides decoding, and by memory. */
export type ChipTier = 'low' | 'mid' | 'high';

/** What a maker publishes of a chip and no driver tells. */
export interface Chip {
  /** The name that the driver gives, without the maker's. */
  readonly name: string;
  readonly family: string;
  readonly tier: ChipTier;
  /** CUDA cores, stream processors, Xe vector engines' cores, or Apple's GPU cores. */
  readonly gpuCores: number | null;
  /** Peak bandwidth of one device. */
  readonly bandwidthGbs: number | null;
  /** Tells apart chips that are sold under one name; null where the name is enough. */
  readonly memoryGb: number | null;
  /** The page that says so. */
  readonly source: string;
}

/** A row of a table: name, tier, cores, bandwidth and, where the name is not enough, memory. */
export type ChipRow = readonly [
  name: string,
  tier: ChipTier,
  gpuCores: number | null,
  bandwidthGbs: number | null,
  memoryGb?: number,
];

/** Rows of one family that have one source. */
export function family(name: string, source: string, rows: readonly ChipRow[]): readonly Chip[] {
  return rows.map(([chip, tier, gpuCores, bandwidthGbs, memoryGb]) => ({
    name: chip,
    family: name,
    tier,
    gpuCores,
    bandwidthGbs,
    memoryGb: memoryGb ?? null,
    source: `${source}: ${chip}`,
  }));
}

import type { AgentRecord } from '#shared/provider.ts';
import { prints } from '../../support/stub-tool.ts';

type DeviceRecord = AgentRecord['gpu']['devices'][number];

/** What a machine's tools print, and what its record must say. */
export interface Machine {
  readonly name: string;
  /** Linux by default. */
  readonly platform?: NodeJS.Platform;
  /** Shell scripts on its search path. */
  readonly tools: Readonly<Record<string, string>>;
  /** Files of its kernel. */
  readonly files?: Readonly<Record<string, string>>;
  /** What systeminformation answers where it cannot run here. */
  readonly library?: { readonly graphics: readonly object[]; readonly memory?: object };
  readonly devices: readonly Partial<DeviceRecord>[];
  readonly chip?: Partial<AgentRecord>;
}

/** The line of a card, and its largest region: what systeminformation reads of `lspci -vvv`. */
export function lspci(...cards: readonly (readonly [line: string, region: string])[]): string {
  const text = cards.map(
    ([line, region]) =>
      `${line}\n\tSubsystem: Device 0001\n\tRegion 0: Memory at d0000000 (64-bit, prefetchable) [size=${region}]\n`,
  );
  return prints(text.join('\n'));
}

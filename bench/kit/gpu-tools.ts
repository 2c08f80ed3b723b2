import { mkdirSync, writeFileSync } from 'node:fs';
import { delimiter } from 'node:path';

/** A card that systeminformation reads whole, so that the agent asks nvidia-smi only who it is. */
const TOOLS = {
  lspci: `echo '01:00.0 VGA compatible controller: NVIDIA Corporation AD103 [GeForce RTX 4080 SUPER]'`,
  'nvidia-smi': `case "$1" in
*driver_version*) echo '595.71, 0x5110, NVIDIA GeForce RTX 4080 SUPER, 00000000:01:00.0, 30, 16376, 596, 15348, 1, 23, 43, N/A, 14.24, 320.00, 210, 405';;
*) echo '0, GPU-00000000-0000-0000-0000-000000000001, 00000000:01:00.0, [N/A], 8.9';;
esac`,
};

/** A search path on which stub tools in `directory` know one GPU. */
export function pathWithGpu(directory: string): string {
  mkdirSync(directory, { recursive: true });
  for (const [name, script] of Object.entries(TOOLS))
    writeFileSync(`${directory}/${name}`, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return `${directory}${delimiter}${process.env['PATH'] ?? ''}`;
}

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { numberOf } from '../../platform/json.ts';
import type { GpuDevice } from './gpu-device.ts';

export interface SysfsCard {
  /** `/sys/class/drm/card0/device`. */
  readonly path: string;
  /** `0000:03:00.0`. */
  readonly pciAddress: string;
}

const DRM = '/sys/class/drm';
export const SYSFS = 'sysfs';

/** The graphics cards of a vendor; `vendorId` is its PCI id, such as `0x1002`. */
export async function sysfsCards(files: KernelFiles, vendorId: string): Promise<SysfsCard[]> {
  const cards: SysfsCard[] = [];
  const names = await files.names(DRM);
  for (const name of names.filter((each) => /^card\d+$/.test(each))) {
    const path = `${DRM}/${name}/device`;
    if ((await files.text(`${path}/vendor`)) !== vendorId) continue;
    const uevent = (await files.text(`${path}/uevent`)) ?? '';
    const pciAddress = /^PCI_SLOT_NAME=(\S+)$/m.exec(uevent)?.[1] ?? name;
    cards.push({ path, pciAddress });
  }
  return cards;
}

/** Temperature in °C, from the card's only sensor or the one labelled edge, and power in W. */
export async function sysfsHwmon(
  files: KernelFiles,
  { path }: SysfsCard,
): Promise<Pick<GpuDevice, 'temperatureC' | 'powerW'>> {
  const [name] = await files.names(`${path}/hwmon`);
  const first = async (...inputs: readonly string[]) => {
    for (const input of inputs) {
      const value = await files.number(`${path}/hwmon/${name}/${input}`);
      if (value !== null) return value;
    }
    return null;
  };
  const millidegrees = await first('temp1_input', 'temp2_input');
  const microwatts = await first('power1_average', 'power1_input');
  return {
    temperatureC: millidegrees === null ? null : millidegrees / 1000,
    powerW: microwatts === null ? null : microwatts / 1e6,
  };
}

const BYTES_PER_MB = 1024 * 1024;

export function mebibytes(bytes: number | null): number | null {
  return bytes === null ? null : Math.round(bytes / BYTES_PER_MB);
}

/** Null if either is unknown. */
export function difference(total: number | null, used: number | null): number | null {
  return total === null || used === null ? null : Math.max(0, total - used);
}

/** Read access to the kernel's device files. */
export type KernelFiles = ReturnType<typeof createKernelFiles>;

/** `root` is `/`, or the root of a copied tree. */
export function createKernelFiles(root: string) {
  async function text(path: string): Promise<string | null> {
    try {
      return (await readFile(join(root, path), 'utf8')).trim();
    } catch {
      return null;
    }
  }

  return {
    /** The content of a file, such as `/sys/class/drm/card0/device/vendor`; null if it cannot be read. */
    text,
    /** Null if the file cannot be read or holds no number. */
    number: async (path: string) => numberOf(await text(path)),
    /** The names in a directory, sorted; empty if it cannot be read. */
    async names(path: string) {
      try {
        return (await readdir(join(root, path))).toSorted();
      } catch {
        return [];
      }
    },
  };
}

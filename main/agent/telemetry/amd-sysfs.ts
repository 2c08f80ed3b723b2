import type { KernelFiles } from './files.ts';
import { UNREAD, type GpuDevice } from './reading.ts';
import {
  difference,
  fileNumber,
  mebibytes,
  sysfsCards,
  sysfsTemperatureC,
  type SysfsCard,
} from './sysfs.ts';

const AMD_VENDOR_ID = '0x1002';
/** Shader processors in a compute unit, from GCN to CDNA 3 and RDNA 4. */
const CORES_PER_UNIT = 64;

/** Reads AMD cards from the files of the amdgpu driver (kernel documentation, "GPU Driver: amdgpu"). */
export async function readAmdSysfs(files: KernelFiles): Promise<readonly GpuDevice[]> {
  const cards = await sysfsCards(files, AMD_VENDOR_ID);
  const units = cards.length === 0 ? new Map<string, number>() : await computeUnits(files);
  const devices: GpuDevice[] = [];
  // One after the other: a driver that hangs must take one thread of the pool, not all of them.
  for (const card of cards) devices.push(await readCard(files, card, units));
  return devices;
}

async function readCard(
  files: KernelFiles,
  card: SysfsCard,
  units: ReadonlyMap<string, number>,
): Promise<GpuDevice> {
  const total = mebibytes(await fileNumber(files, `${card.path}/mem_info_vram_total`));
  const used = mebibytes(await fileNumber(files, `${card.path}/mem_info_vram_used`));
  const cores = units.get(card.pciAddress);
  const name = await files.text(`${card.path}/product_name`);
  return {
    ...UNREAD,
    key: card.pciAddress,
    vendor: 'amd',
    name: name === '' ? null : name,
    memoryTotalMb: total,
    memoryUsedMb: used,
    memoryFreeMb: difference(total, used),
    utilGpu: await fileNumber(files, `${card.path}/gpu_busy_percent`),
    utilMemory: await fileNumber(files, `${card.path}/mem_busy_percent`),
    temperatureC: await sysfsTemperatureC(files, card),
    gpuCores: cores === undefined ? null : cores * CORES_PER_UNIT,
  };
}

const KFD_NODES = '/sys/class/kfd/kfd/topology/nodes';

/** Compute units by PCI address, from the compute driver's topology (kernel: kfd_topology.c). */
async function computeUnits(files: KernelFiles): Promise<Map<string, number>> {
  const units = new Map<string, number>();
  for (const node of await files.names(KFD_NODES)) {
    const text = (await files.text(`${KFD_NODES}/${node}/properties`)) ?? '';
    const property = (name: string) =>
      Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
    const simds = property('simd_count');
    const simdsPerUnit = property('simd_per_cu');
    if (simds === 0 || simdsPerUnit === 0) continue;
    units.set(pciAddressOf(property('domain'), property('location_id')), simds / simdsPerUnit);
  }
  return units;
}

/** `location_id` packs bus, device and function in 8, 5 and 3 bits. */
function pciAddressOf(domain: number, locationId: number): string {
  const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0');
  const bus = (locationId >> 8) & 0xff;
  const device = (locationId >> 3) & 0x1f;
  return `${hex(domain, 4)}:${hex(bus, 2)}:${hex(device, 2)}.${locationId & 7}`;
}

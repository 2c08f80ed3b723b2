import type { KernelFiles } from '../telemetry/files.ts';

const CLASSES = '/sys/class';
const SUPPLIES = `${CLASSES}/power_supply`;

/** A power supply as the kernel's ABI documentation has it (sysfs-class-power). */
export interface PowerSupply {
  /** `Battery`, `Mains`, `USB`, `UPS`, `Wireless`. */
  readonly type: string | null;
  /** `Device` for the battery of a mouse; most machines leave it out for their own. */
  readonly scope: string | null;
  /** Of a battery: `Charging`, `Discharging`, `Not charging`, `Full`, `Unknown`. */
  readonly status: string | null;
  /** Of everything else: `0` while it gives nothing. */
  readonly online: string | null;
}

/** Whether this machine runs on its battery; null where the kernel's files are not to be seen. */
export async function isLinuxOnBattery(files: KernelFiles): Promise<boolean | null> {
  // A kernel without the class knows of no battery; one without any class is hidden from us.
  if ((await files.names(CLASSES)).length === 0) return null;
  const names = await files.names(SUPPLIES);
  const supplies = await Promise.all(
    names.map(async (name): Promise<PowerSupply> => {
      const at = (file: string) => files.text(`${SUPPLIES}/${name}/${file}`);
      const [type, scope, status, online] = await Promise.all([
        at('type'),
        at('scope'),
        at('status'),
        at('online'),
      ]);
      return { type, scope, status, online };
    }),
  );
  return isRunOnBattery(supplies);
}

/** As systemd judges it: a battery of its own is drained, and no other supply gives anything. */
export function isRunOnBattery(supplies: readonly PowerSupply[]): boolean {
  const own = supplies.filter(({ scope }) => scope !== 'Device');
  const isPlugged = own.some(({ type, online }) => type !== 'Battery' && isGiving(online));
  return (
    !isPlugged && own.some(({ type, status }) => type === 'Battery' && status === 'Discharging')
  );
}

/** USB ports count more than one way of giving. */
function isGiving(online: string | null): boolean {
  return online !== null && online !== '0';
}

import type { NetworkInterfaceInfo } from 'node:os';
import { expect, test } from 'vitest';
import { outsideAddresses } from '../../../main/platform/http/addresses.ts';

function interfaceOf(address: string): NetworkInterfaceInfo {
  const internal = address.startsWith('127.');
  const common = { address, netmask: '', mac: '', internal, cidr: null };
  const isNew = address.includes(':');
  return isNew ? { ...common, family: 'IPv6', scopeid: 0 } : { ...common, family: 'IPv4' };
}

const DOCKER = { docker0: '172.17.0.1' };
const VIRTUALBOX = '192.168.56.1';

// Two of them are Mentra-Community/MentraOS#3889 and expo/expo#3417.
test.each<[what: string, by: string, others: Readonly<Record<string, string>>, its: string]>([
  [
    'Tailscale and WSL on Windows',
    '192.168.1.199',
    { Tailscale: '100.96.198.122', 'vEthernet (WSL)': '172.22.176.1' },
    'Wi-Fi',
  ],
  [
    'VirtualBox on Windows',
    '192.168.1.14',
    { 'VirtualBox Host-Only Network': VIRTUALBOX },
    'Ethernet',
  ],
  ['VirtualBox under a name of Windows', '10.0.0.7', { 'Ethernet 2': VIRTUALBOX }, 'Ethernet'],
  [
    'Docker, and an adapter plugged in later',
    '192.168.0.20',
    { lo: '127.0.0.1', ...DOCKER, 'br-1f2e': '172.18.0.1' },
    'enx00e0',
  ],
  ['a VPN on a Mac', '192.168.178.30', { utun4: '10.8.0.2' }, 'en0'],
  ['an adapter without a network', '192.168.1.5', { Ethernet: '169.254.17.3' }, 'Wi-Fi'],
  ['only a tailnet and Docker', '100.100.1.2', DOCKER, 'tailscale0'],
  ['a container', '172.17.0.2', { lo: '127.0.0.1' }, 'eth0'],
  ['IPv6 in front', '192.168.1.9', { eth0: '2001:db8::1' }, 'wlan0'],
])('others reach a machine with %s at %s, the address of its network', (_what, by, others, its) => {
  const interfaces = Object.entries({ ...others, [its]: by });
  const found = outsideAddresses(
    Object.fromEntries(interfaces.map(([name, address]) => [name, [interfaceOf(address)]])),
  );
  expect(found[0]?.address).toBe(by);
});

import type { NetworkInterfaceInfo } from 'node:os';
import { expect, test } from 'vitest';
import { outsideAddresses } from '../../../main/platform/http/addresses.ts';

type Named = readonly [interfaceName: string, address: string];

function interfaceOf(address: string): NetworkInterfaceInfo {
  const common = {
    address,
    netmask: '',
    mac: '',
    internal: address.startsWith('127.'),
    cidr: null,
  };
  return address.includes(':')
    ? { ...common, family: 'IPv6', scopeid: 0 }
    : { ...common, family: 'IPv4' };
}

const firstOf = (interfaces: readonly Named[]) =>
  outsideAddresses(
    Object.fromEntries(interfaces.map(([name, address]) => [name, [interfaceOf(address)]])),
  )[0]?.address;

test.each<[what: string, interfaces: readonly Named[], first: string]>([
  [
    // Mentra-Community/MentraOS#3889.
    'Tailscale and WSL on Windows',
    [
      ['Tailscale', '100.96.198.122'],
      ['vEthernet (WSL)', '172.22.176.1'],
      ['Wi-Fi', '192.168.1.199'],
    ],
    '192.168.1.199',
  ],
  [
    // expo/expo#3417.
    'VirtualBox on Windows',
    [
      ['VirtualBox Host-Only Network', '192.168.56.1'],
      ['Ethernet', '192.168.1.14'],
    ],
    '192.168.1.14',
  ],
  [
    'VirtualBox under a name of Windows',
    [
      ['Ethernet 2', '192.168.56.1'],
      ['Ethernet', '10.0.0.7'],
    ],
    '10.0.0.7',
  ],
  [
    'Docker, and an adapter plugged in later',
    [
      ['lo', '127.0.0.1'],
      ['docker0', '172.17.0.1'],
      ['br-1f2e', '172.18.0.1'],
      ['enx00e0', '192.168.0.20'],
    ],
    '192.168.0.20',
  ],
  [
    'a VPN on a Mac',
    [
      ['utun4', '10.8.0.2'],
      ['en0', '192.168.178.30'],
    ],
    '192.168.178.30',
  ],
  [
    'an adapter without a network',
    [
      ['Ethernet', '169.254.17.3'],
      ['Wi-Fi', '192.168.1.5'],
    ],
    '192.168.1.5',
  ],
  [
    'only a tailnet and Docker',
    [
      ['docker0', '172.17.0.1'],
      ['tailscale0', '100.100.1.2'],
    ],
    '100.100.1.2',
  ],
  [
    'a container',
    [
      ['lo', '127.0.0.1'],
      ['eth0', '172.17.0.2'],
    ],
    '172.17.0.2',
  ],
  [
    'IPv6 in front',
    [
      ['eth0', '2001:db8::1'],
      ['wlan0', '192.168.1.9'],
    ],
    '192.168.1.9',
  ],
])('others reach a machine with %s at the address of its network', (_what, interfaces, first) => {
  expect(firstOf(interfaces)).toBe(first);
});

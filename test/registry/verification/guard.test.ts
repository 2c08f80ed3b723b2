import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  canonicalIp,
  isLoopback,
  refusalOf,
  resolveChecked,
  type AddressPolicy,
} from '../../../main/platform/network-guard.ts';

const STRICT: AddressPolicy = { loopback: false, ports: [3001, 47_901], loopbackPorts: [] };
const AT_HOME: AddressPolicy = { ...STRICT, loopback: true };

test.each([
  ['169.254.1.1', 'link-local'],
  ['169.254.169.254', 'metadata service'],
  ['fe80::1', 'link-local'],
  ['febf::1', 'link-local'],
  ['fe80::1%eth0', 'link-local'],
  ['fec0::1', 'site-local'],
  ['100.100.100.200', 'metadata service'],
  ['fd00:ec2::254', 'metadata service'],
  ['fd20:ce::254', 'metadata service'],
  ['168.63.129.16', 'metadata service'],
  ['192.0.0.192', 'metadata service'],
  ['224.0.0.1', 'multicast'],
  ['239.255.255.250', 'multicast'],
  ['ff02::1', 'multicast'],
  ['0.0.0.0', 'unspecified'],
  ['::', 'unspecified'],
  ['0:0:0:0:0:0:0:0', 'unspecified'],
  ['0.1.2.3', 'reserved'],
  ['240.0.0.1', 'reserved'],
  ['255.255.255.255', 'broadcast'],
  ['::ffff:192.168.1.20', 'IPv4 written as IPv6'],
  ['::ffff:c0a8:114', 'IPv4 written as IPv6'],
  ['::192.168.1.20', 'IPv4 written as IPv6'],
  ['::ffff:0:192.168.1.20', 'IPv4 written as IPv6'],
  ['64:ff9b:1::1', 'IPv4 written as IPv6'],
  ['2001:0:4136:e378:8000:63bf:3fff:fdd2', 'IPv4 written as IPv6'],
  ['64:ff9b::169.254.169.254', 'metadata service'],
  ['64:ff9b::169.254.0.9', 'link-local'],
  ['2002:a9fe:a9fe::1', 'metadata service'],
  ['2002:e000:1::1', 'multicast'],
  ['example.com', 'not an IP address'],
  ['', 'not an IP address'],
])('the address %s is never connected to: %s', (address, why) => {
  expect(refusalOf(address, { loopback: true })).toBe(why);
  expect(refusalOf(address, { loopback: false })).toBe(why);
});

test.each([
  '10.0.0.1',
  '172.16.0.1',
  '192.168.1.20',
  '100.64.0.1',
  '100.127.255.254',
  '8.8.8.8',
  'fd7a:115c:a1e0::1',
  'fd12:3456::1',
  'fc00::1',
  '2606:4700::1111',
  '64:ff9b::8.8.8.8',
  '2002:808:808::1',
  '2001:4860:4860::8888',
])('the address %s is allowed', (address) => {
  expect(refusalOf(address, { loopback: false })).toBeNull();
});

test.each(['127.0.0.1', '127.255.255.254', '::1', '0:0:0:0:0:0:0:1'])(
  'the address %s is allowed only if loopback is',
  (address) => {
    expect(refusalOf(address, { loopback: false })).toBe('loopback');
    expect(refusalOf(address, { loopback: true })).toBeNull();
    expect(isLoopback(address)).toBe(true);
  },
);

test('no disguise of a forbidden IPv4 address is let through', () => {
  const byte = fc.nat(255);
  const first = fc.constantFrom(0, 100, 127, 168, 169, 192, 224, 239, 240, 255);
  const second = fc.constantFrom(0, 63, 64, 100, 129, 168, 254);
  const forms = [
    (ip: string) => `::ffff:${ip}`,
    (ip: string) => `::${ip}`,
    (ip: string) => `64:ff9b::${ip}`,
    (ip: string) => `64:ff9b:1::${ip}`,
    (ip: string) =>
      `2002:${Buffer.from(ip.split('.').map(Number)).toString('hex').replace(/..../, '$&:')}::`,
  ];
  fc.assert(
    fc.property(fc.tuple(first, second, byte, byte), fc.constantFrom(...forms), (bytes, form) => {
      const ip = bytes.join('.');
      const plain = refusalOf(ip, { loopback: false });
      const hidden = refusalOf(form(ip), { loopback: true });
      expect(plain !== null && hidden === null).toBe(false);
      expect(isLoopback(form(ip))).toBe(false);
    }),
    { numRuns: 400 },
  );
});

test.each([
  ['::ffff:192.168.1.20', '192.168.1.20'],
  ['::ffff:7f00:1', '127.0.0.1'],
  ['FD00:0:0::1', 'fd00::1'],
  ['10.0.0.1', '10.0.0.1'],
  ['fe80::1%eth0', null],
  ['tower', null],
])('the address %s is the same as %j', (address, canonical) => {
  expect(canonicalIp(address)).toBe(canonical);
});

const never = () => Promise.reject(new Error('nothing may be resolved'));

async function check(
  text: string,
  policy = STRICT,
  resolve: (name: string) => Promise<readonly string[]> = never,
) {
  const result = await resolveChecked(new URL(text), policy, resolve);
  if (result.kind === 'exhausted') return result.kind;
  return result.kind === 'allowed' ? result.checked.address : result.error;
}

test.each([
  ['ftp://10.0.0.1:3001', 'ftp is not allowed (http or https)'],
  ['file:///etc/passwd', 'file is not allowed (http or https)'],
  ['http://10.0.0.1', 'port 80 is not allowed (3001 or 47901)'],
  ['https://10.0.0.1', 'port 443 is not allowed (3001 or 47901)'],
  ['http://10.0.0.1:22', 'port 22 is not allowed (3001 or 47901)'],
  ['http://user:pw@10.0.0.1:3001', 'a user name or password is not allowed'],
  ['http://user@10.0.0.1:3001', 'a user name or password is not allowed'],
  ['http://2130706433:3001', 'address not allowed: loopback'],
  ['http://0x7f000001:3001', 'address not allowed: loopback'],
  ['http://0177.0.0.1:3001', 'address not allowed: loopback'],
  ['http://127.1:3001', 'address not allowed: loopback'],
  ['http://127.0.0.1.:3001', 'address not allowed: loopback'],
  ['http://①②⑦.⓪.⓪.①:3001', 'address not allowed: loopback'],
  ['http://0xa9fea9fe:3001', 'address not allowed: metadata service'],
  ['http://2852039166:3001', 'address not allowed: metadata service'],
  ['http://0251.0376.0251.0376:3001', 'address not allowed: metadata service'],
  ['http://0:3001', 'address not allowed: unspecified'],
  ['http://[::ffff:127.0.0.1]:3001', 'address not allowed: IPv4 written as IPv6'],
  ['http://[::]:3001', 'address not allowed: unspecified'],
  ['http://10.0.0.1:3001', '10.0.0.1'],
  ['https://[fd7a:115c:a1e0::1]:47901', 'fd7a:115c:a1e0::1'],
])('the URL %s is checked with the result: %s', async (text, expected) => {
  expect(await check(text)).toBe(expected);
});

test.each([
  [['192.168.1.20'], '192.168.1.20'],
  [['fd00::1', '192.168.1.20'], '192.168.1.20'],
  [['fd00::1', 'fd00::2'], 'fd00::1'],
  [['192.168.1.20', '169.254.169.254'], 'address not allowed: metadata service'],
  [['8.8.8.8', '127.0.0.1'], 'address not allowed: loopback'],
  [['8.8.8.8', '::ffff:10.0.0.1'], 'address not allowed: IPv4 written as IPv6'],
  [['8.8.8.8', 'fe80::1%eth0'], 'address not allowed: link-local'],
  [[], 'the name has no address'],
])('a URL whose name leads to %j is checked with the result: %s', async (addresses, expected) => {
  expect(await check('http://tower:3001', STRICT, () => Promise.resolve(addresses))).toBe(expected);
});

test.each([
  ['ENOTFOUND', 'name not found'],
  ['EAI_AGAIN', 'the name could not be resolved'],
])('a URL whose name gives %s is refused: %s', async (code, expected) => {
  const resolve = () => Promise.reject(Object.assign(new Error('x'), { code }));
  expect(await check('http://tower:3001', STRICT, resolve)).toBe(expected);
});

test('a URL may have this process’s own port on loopback only', async () => {
  const own = { ...AT_HOME, loopbackPorts: [5000] };
  expect(await check('http://127.0.0.1:5000', own)).toBe('127.0.0.1');
  expect(await check('http://10.0.0.1:5000', own)).toBe('port 5000 is allowed on loopback only');
  const both = () => Promise.resolve(['127.0.0.1', '10.0.0.1']);
  expect(await check('http://tower:5000', own, both)).toBe('port 5000 is allowed on loopback only');
  const strict = await check('http://127.0.0.1:5000', { ...own, loopback: false });
  expect(strict).toBe('address not allowed: loopback');
});

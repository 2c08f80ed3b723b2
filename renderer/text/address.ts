const MACHINE = /^(localhost|\d{1,3}(\.\d{1,3}){3}|\[[\da-f:]+\]|[\w-]+(?=:\d))/i;
const DOMAIN = /^[\w-]+(\.[\w-]+)+/;

/** An address as typed, with the scheme that people leave out: machines are asked plainly, services over TLS. */
export function completeAddress(text: string): string {
  const address = text.trim();
  if (address.includes('://')) return address;
  if (MACHINE.test(address)) return `http://${address}`;
  return DOMAIN.test(address) ? `https://${address}` : address;
}

const MACHINE = /^(localhost|\d{1,3}(\.\d{1,3}){3}|\[[\da-f:]+\]|[\w-]+(?=:\d))/i;
const DOMAIN = /^[\w-]+(\.[\w-]+)+/;

/** Adds a missing scheme to a typed address: http for machines, https for services. */
export function completeAddress(text: string): string {
  const address = text.trim();
  if (address.includes('://')) return address;
  if (MACHINE.test(address)) return `http://${address}`;
  return DOMAIN.test(address) ? `https://${address}` : address;
}

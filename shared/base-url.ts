/** What people paste behind the base URL: a service's page shows the address of a whole call. */
const ENDPOINT =
  /\/(chat\/completions|completions|responses|messages|embeddings|(?<=\/v\d\/)models)\/*$/;

/** The path of a base URL, without the endpoint and the slashes behind it. */
export function basePathOf(pathname: string): string {
  return pathname.replace(ENDPOINT, '').replace(/\/+$/, '');
}

/** Matches also a bare name before a port or a path, and names that only a home network knows. */
const MACHINE =
  /^(\[[\da-f:]+\]|(?!https?\/)[\w-]+(?=:\d|\/)|(localhost|\d{1,3}(\.\d{1,3}){3}|[\w.-]+\.(local|lan|home|internal|home\.arpa))(?=[:/]|$))/i;
const DOMAIN = /^[\w-]+(\.[\w-]+)+/;

/** Adds a missing scheme to a typed address: http for machines, https for services. */
export function completeAddress(text: string): string {
  const address = text.trim();
  if (address.includes('://')) return address;
  if (MACHINE.test(address)) return `http://${address}`;
  return DOMAIN.test(address) ? `https://${address}` : address;
}

import { basePathOf } from '#shared/base-url.ts';

/** Matches also a bare name before a port or a path, and names that only a home network knows. */
const MACHINE =
  /^(localhost|\d{1,3}(\.\d{1,3}){3}|\[[\da-f:]+\]|[\w-]+(?=:\d|\/)|[\w.-]+\.(local|lan|home|internal|home\.arpa)(?=[:/]|$))/i;
const DOMAIN = /^[\w-]+(\.[\w-]+)+/;

/** Adds a missing scheme to a typed address: http for machines, https for services. */
export function completeAddress(text: string): string {
  const address = text.trim();
  if (address.includes('://')) return address;
  if (MACHINE.test(address)) return `http://${address}`;
  return DOMAIN.test(address) ? `https://${address}` : address;
}

/** The same for the base URL of an API, without an endpoint that was pasted with it. */
export function completeBaseUrl(text: string): string {
  const address = completeAddress(text);
  if (!/^https?:/i.test(address) || !URL.canParse(address)) return address;
  const url = new URL(address);
  url.pathname = basePathOf(url.pathname);
  return url.href.replace(/\/$/, '');
}

/** Where an API with this base URL may be: most have a version in the path, which people leave out. */
export function baseUrlsFor(baseUrl: string): readonly string[] {
  const isBare = URL.canParse(baseUrl) && new URL(baseUrl).pathname === '/';
  if (!isBare) return [baseUrl];
  const versioned = new URL(baseUrl);
  versioned.pathname = '/v1';
  return [versioned.href, baseUrl];
}

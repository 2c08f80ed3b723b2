import { basePathOf, completeAddress } from '#shared/base-url.ts';

/** A typed base URL of an API with the scheme that it may lack, and without an endpoint that was pasted with it. */
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

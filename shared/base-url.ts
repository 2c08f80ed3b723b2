/** What people paste behind the base URL: a service's page shows the address of a whole call. */
const ENDPOINT =
  /\/(chat\/completions|completions|responses|messages|embeddings|(?<=\/v\d\/)models)\/*$/;

/** The path of a base URL, without the endpoint and the slashes behind it. */
export function basePathOf(pathname: string): string {
  return pathname.replace(ENDPOINT, '').replace(/\/+$/, '');
}

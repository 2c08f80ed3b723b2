/** Whether an address is a page of this gateway, and of nobody else. */
export function isOwnPage(address: string, ownOrigin: string): boolean {
  const url = URL.parse(address);
  if (url === null || url.username !== '' || url.password !== '') return false;
  // Opaque origins read "null", and two of them would be equal.
  return url.origin !== 'null' && url.origin === ownOrigin;
}

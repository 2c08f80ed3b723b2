const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i;

/** True for a host, by name or address, that only this machine can reach. */
export function isLoopbackHost(host: string): boolean {
  return LOOPBACK_HOST.test(host);
}

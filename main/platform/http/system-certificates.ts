import { getCACertificates, setDefaultCACertificates } from 'node:tls';

let isDone = false;

/**
 * Makes this process trust what the system trusts, such as the authority of a company, beside what Node brings. Before the
 * first TLS connection only: the store is read in one piece, which takes 50 ms.
 */
export function trustSystemCertificates(): void {
  if (isDone) return;
  isDone = true;
  setDefaultCACertificates([...getCACertificates('default'), ...getCACertificates('system')]);
}

/** What an installer installs, and from where. */
export interface Installed {
  /** Of the gateway, as the other machine reaches it. */
  readonly url: string;
  readonly name: string;
  readonly version: string;
  /** Of the package's tarball. */
  readonly sha256: string;
}

export const unixLine = (url: string) => `curl -fsS ${url}/install | sh -s -- <token>`;

export const windowsLine = (url: string) =>
  `& ([scriptblock]::Create((irm ${url}/install.ps1))) <token>`;

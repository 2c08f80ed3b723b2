/** A line that installs the gateway's version on another machine; `<token>` in it stands for a token. */
export interface InstallLine {
  readonly line: string;
  /** The digest of the installer that the line runs; the installer checks the package's. */
  readonly sha256: string;
}

/** `GET /api/v1/install`. */
export interface InstallLines {
  readonly version: string;
  readonly unix: InstallLine;
  readonly windows: InstallLine;
}

/** The program that a service manager runs. */
export interface Program {
  /** The program and its arguments. */
  readonly command: readonly [string, ...string[]];
  /** Null: the default for the user that the service runs as. */
  readonly dataDirectory: string | null;
}

/** A service as its manager needs it: a file and command lines. */
export interface Service {
  readonly file: string;
  readonly text: string;
  readonly encoding: 'utf8' | 'utf16le';
  /** Fails if the manager is not running; null for one that always is. */
  readonly reachable: CommandLine | null;
  /** Run before the file of an earlier installation is replaced; failures are ignored. */
  readonly replaces: readonly CommandLine[];
  /** Run after the file is written. */
  readonly install: readonly CommandLine[];
  /** Run before the file is removed. */
  readonly remove: readonly CommandLine[];
  /** Run after the file is removed. */
  readonly forget: readonly CommandLine[];
  /** Exits with 0 while the service runs. */
  readonly isActive: CommandLine;
  /** Shown to the user after the installation. */
  readonly notes: readonly string[];
  /** The log's path, or the command that shows it, as in `journalctl --user -u switchyard`. */
  readonly log: string;
}

export type CommandLine = readonly [string, ...string[]];

/** For text content in XML. */
export const xmlText = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

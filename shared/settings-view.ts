/**
 * Values from the environment cannot be changed while the program runs; `keychain`: in the file, sealed with a key of
 * the system's keychain.
 */
export type SettingSource = 'env' | 'file' | 'keychain' | 'default';

/** `list` and `ports` are arrays, `headers` an object, `choice` is one of several words. */
export type SettingKind =
  | 'address'
  | 'text'
  | 'secret'
  | 'secrets'
  | 'headers'
  | 'list'
  | 'milliseconds'
  | 'bytes'
  | 'count'
  | 'amount'
  | 'celsius'
  | 'port'
  | 'ports'
  | 'flag'
  | 'choice';

/** One value of a `choice`, with the sentence that explains it. */
export interface SettingChoice {
  readonly value: string;
  readonly meaning: string;
}

/** One setting as the API returns it; secrets are shown as a masked preview. */
export interface SettingView {
  readonly value: unknown;
  readonly source: SettingSource;
  /** The environment variable that overrides the saved value. */
  readonly env: string;
  readonly kind: SettingKind;
  /** Null if there is no default. */
  readonly default: unknown;
  /** As in "a whole number from 1 to 5". */
  readonly allowed: string;
  /** One plain sentence. */
  readonly meaning: string;
  /** All values of a `choice`; left out for the other kinds. */
  readonly choices?: readonly SettingChoice[];
  /** The value is never shown in full; left out for other settings. */
  readonly secret?: true;
  /** A change takes effect after a restart; left out if it does at once. */
  readonly restart?: true;
}

/** `GET /api/v1/settings`: sections (`hosted_a`, `routing`, …) of settings (`baseUrl`, …). */
export type SettingsView = Readonly<Record<string, Readonly<Record<string, SettingView>>>>;

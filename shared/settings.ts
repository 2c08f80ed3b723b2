/** Where a setting's value comes from; the environment's cannot be changed while the program runs. */
export type SettingSource = 'env' | 'file' | 'default';

/** One setting as it is read back; secrets come as their masked preview. */
export interface SettingView {
  readonly value: unknown;
  readonly source: SettingSource;
  /** A change holds after a restart; left out where it holds at once. */
  readonly restart?: true;
}

/** `GET /api/v1/settings`: sections (`hosted_a`, `routing`, …) of settings (`baseUrl`, …). */
export type SettingsView = Readonly<Record<string, Readonly<Record<string, SettingView>>>>;

import type { UpstreamId } from '#shared/ids.ts';
import type { SettingChoice, SettingView } from '#shared/settings.ts';

export interface Choice extends SettingChoice {
  readonly label: string;
}

export interface Field extends Omit<SettingView, 'choices'> {
  readonly section: string;
  readonly key: string;
  /** The name that the gateway uses in errors, such as `hosted_a.baseUrl`. */
  readonly path: string;
  readonly label: string;
  /** Empty unless the kind is `choice`. */
  readonly choices: readonly Choice[];
}

/** Settings that are saved together. */
export interface Section {
  readonly id: string;
  readonly upstream: UpstreamId | null;
  readonly fields: readonly Field[];
}

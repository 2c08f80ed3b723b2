import type { UpstreamId } from '#shared/ids.ts';
import type { SettingChoice, SettingView } from '#shared/settings.ts';

export interface Choice extends SettingChoice {
  readonly label: string;
}

export interface Field extends Omit<SettingView, 'choices'> {
  readonly section: string;
  readonly key: string;
  /** As the gateway names it in errors, `hosted_a.baseUrl`. */
  readonly path: string;
  readonly label: string;
  /** Empty for the kinds that are not a `choice`. */
  readonly choices: readonly Choice[];
}

/** Settings that are saved together. */
export interface Section {
  readonly id: string;
  readonly upstream: UpstreamId | null;
  readonly fields: readonly Field[];
}

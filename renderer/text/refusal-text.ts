import type { Refusal } from '../api/client.ts';

/** Names of fields by the last part of the gateway's name for them, as in `baseUrl`. */
export type FieldLabels = Readonly<Record<string, string>>;

/** Why the gateway refused something, with the page's name of the field in place of the gateway's. */
export function refusalText({ message, param }: Refusal, labels: FieldLabels): string {
  const label = param === null ? undefined : labels[param.split('.').at(-1) ?? ''];
  return label === undefined ? message : message.replaceAll(`'${param}'`, `“${label}”`);
}

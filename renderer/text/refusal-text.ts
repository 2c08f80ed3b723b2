import type { Refusal } from '../api/client.ts';

/** Names of fields by the last part of the gateway's name for them, as in `baseUrl`. */
export type FieldLabels = Readonly<Record<string, string>>;

/** Why the gateway refused something, with the page's name of the field in place of the gateway's. */
export function refusalText({ message, param }: Refusal, labels: FieldLabels): string {
  const label = param === null ? undefined : labels[param.split('.').at(-1) ?? ''];
  return plainText(label === undefined ? message : message.replaceAll(`'${param}'`, `“${label}”`));
}

export function plainText(message: string): string {
  return message
    .replaceAll(
      /\b(?:connect )?ECONNREFUSED (\[.*?\]:\d+|[\w.-]+:\d+)/g,
      (_, at: string) => `nothing listens at ${at}`,
    )
    .replaceAll(
      /\b(?:getaddrinfo )?ENOTFOUND ([\w.-]+)/g,
      (_, host: string) => `no machine is known as ${host}`,
    );
}

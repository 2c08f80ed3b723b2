import { expect, test } from 'vitest';
import type { TranslationResult } from '../../../../main/gateway/protocols/translation/translation.ts';

export const HI = { role: 'user', content: 'Hi' };
export const said = (...messages: object[]) => ({ messages });
export const call = (id: string, name: string, json = '{}') => ({
  id,
  type: 'function',
  function: { name, arguments: json },
});

/** The chat body of a translation, as it is sent. */
export function sentBody(translated: TranslationResult): Record<string, unknown> {
  if (translated.kind !== 'chat') throw new Error(translated.message);
  return JSON.parse(JSON.stringify(translated.body)) as Record<string, unknown>;
}

type Row = readonly [what: string, fields: object, chat: object];

/** Tests of what becomes of fields that are added to a request with the one message `HI`. */
export function requestTests(protocol: string, ask: (fields: object) => TranslationResult) {
  const common = sentBody(ask({}));
  /** Without what every request has. */
  const chatOf = (fields: object): object =>
    Object.fromEntries(
      Object.entries(sentBody(ask(fields))).filter(([key, value]) => value !== common[key]),
    );
  return {
    conversations: (rows: readonly Row[]) =>
      test.each(rows)(
        `the conversation of a ${protocol} request reaches the upstream as chat messages: %s`,
        (_what, fields, body) => {
          expect(chatOf(fields)).toEqual(body);
        },
      ),
    /** Without the chat fields of a row, they are the same. */
    settings: (rows: [what: string, fields: object, chat?: object][]) =>
      test.each<[what: string, fields: object, chat?: object]>(rows)(
        `a setting of a ${protocol} request reaches the upstream under its name for it: %s`,
        (_what, fields, chat = fields) => {
          expect(chatOf(fields)).toEqual({ messages: [HI], ...chat });
        },
      ),
    /** In words that begin with the field. */
    refusals: (rows: readonly (readonly [field: string, fields: object])[]) =>
      test.each(rows)(
        `a part of a ${protocol} request that cannot be translated is refused by its name: %s`,
        (param, fields) => {
          const message = expect.stringContaining(`'${param}': `);
          expect(ask(fields)).toMatchObject({ kind: 'unsupported', param, message });
        },
      ),
  };
}

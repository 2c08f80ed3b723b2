import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import { orderFor } from '../../../main/gateway/routing/candidates.ts';
import { formRequest } from '../../../main/gateway/protocols/chat-request.ts';
import { CHAT_COMPLETIONS } from '../../../main/gateway/protocols/chat/endpoint.ts';
import {
  type LocalChoice,
  remoteModel,
  remoteUpstreams,
  servesModel,
} from '../../../main/gateway/upstream/upstreams.ts';
import { asVariables, configOf } from '../../support/config.ts';
import { chatCall } from '../../support/chat-call.ts';
import { targetAt } from '../../support/targets.ts';
import { at } from '../../support/words.ts';

const NAMES = { a: 'hosted_a', b: 'hosted_b', c: 'hosted_c', d: 'ondemand' } as const;
const URLS = at(Object.fromEntries(Object.values(NAMES).map((id) => [id, `http://${id}.test`])));

/** All upstreams, `local` with the models given, and settings as the environment names them. */
function world(models: readonly string[] | null, settings: Readonly<Record<string, string>>) {
  const config = configOf(asVariables({ ...URLS, ...settings }));
  const local: LocalChoice =
    models === null
      ? { kind: 'none', reason: 'no_provider' }
      : { kind: 'target', target: targetAt('http://local.test', { models }) };
  const remotes = remoteUpstreams(config);
  const order = (model: string | null) => {
    const call = chatCall({ ...formRequest(Buffer.alloc(0), CHAT_COMPLETIONS, ''), model });
    return orderFor({ call, config, remotes }, null, local);
  };
  return { order, remotes };
}

const ALL = [...UPSTREAM_IDS];
const ofAll = (models: string) => ({
  HOSTED_A_MODEL: models,
  HOSTED_B_MODEL: models,
  HOSTED_C_MODEL: models,
  ONDEMAND_MODEL: models,
});

const model = fc.constantFrom('x', 'y', 'z');
const models = fc.uniqueArray(model, { maxLength: 3 });

test('every upstream is called once: those that have the model first, then routing order', () => {
  const listing = fc.record({ a: models, b: models, c: models, d: models });
  const property = fc.property(
    fc.option(models),
    listing,
    fc.option(model),
    fc.boolean(),
    (local, lists, asked, hasAlias) => {
      const env = Object.entries(lists).map(([key, list]) => [
        `${NAMES[key as keyof typeof NAMES].toUpperCase()}_MODELS`,
        list.join(','),
      ]);
      const alias = hasAlias ? { MODEL_ALIASES: 'smart=x' } : {};
      const given = { ...ofAll('other'), ...(Object.fromEntries(env) as object), ...alias };
      const { order, remotes } = world(local, given);
      const got = order(asked);
      const has = (id: UpstreamId) => {
        if (id === 'local')
          return (
            local !== null && (local.length === 0 || (asked !== null && local.includes(asked)))
          );
        return remotes.some((each) => each.id === id && servesModel(each, asked));
      };
      const expected = [...ALL.filter(has), ...ALL.filter((id) => !has(id))];
      const named = Object.values(lists).some((list) => asked !== null && list.includes(asked));
      const isChosen = asked !== null && (named || (hasAlias && asked === 'x'));
      expect(got).toEqual(isChosen ? expected : ALL);
    },
  );
  fc.assert(property);
});

test('an upstream is sent the model name that it takes, else the model that it is set to', () => {
  const sent = (settings: Record<string, string>, asked: string | null) => {
    const [upstream] = world(null, settings).remotes;
    return upstream === undefined ? undefined : remoteModel(upstream, asked);
  };
  expect(sent({}, 'x')).toBe('x');
  expect(sent({}, null)).toBeNull();
  expect(sent({ HOSTED_A_MODEL: 'm' }, 'x')).toBe('m');
  expect(sent({ HOSTED_A_MODEL: 'm', HOSTED_A_MODELS: 'x,y' }, 'x')).toBe('x');
  expect(sent({ HOSTED_A_MODEL: 'm', HOSTED_A_MODELS: 'x,y' }, 'z')).toBe('m');
  expect(sent({ HOSTED_A_MODELS: 'x,y' }, 'z')).toBe('x');
  expect(sent({ HOSTED_A_MODELS: 'x,y' }, null)).toBe('x');
});

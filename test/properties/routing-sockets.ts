import { expect } from 'vitest';
import { UPSTREAM_IDS, type UpstreamId } from '#shared/ids.ts';
import { readControlToken } from '../../main/platform/secrets.ts';
import { chat } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { bearer, send } from '../support/http.ts';
import type { Outcome } from './routing-model.ts';
import { type Action, type Ask, FIRST_LIMITS } from './routing-table.ts';
import {
  bodyOf,
  CONTENT,
  createHastyClock,
  ERRORS,
  REST,
  SETTINGS,
  Stage,
  type World,
} from './routing-worlds.ts';
import { cut, json, type Script, sse, startUpstream } from '../support/upstream.ts';
import { at } from '../support/words.ts';

/** A whole gateway and five upstreams, on real sockets; settings are changed by their route. */
export async function createSocketWorld(): Promise<World> {
  const clock = createHastyClock();
  const stage = new Stage(clock);
  const started = await Promise.all(
    UPSTREAM_IDS.map(async (id) => [id, await startUpstream(playing(stage, id))] as const),
  );
  const urls = Object.fromEntries(started.map(([id, { url }]) => [id, url]));
  const gateway = await startGateway({ ...SETTINGS, ...at(urls) }, clock);
  const control = bearer(readControlToken(gateway.dataDirectory) ?? '');
  let keys = 0;

  async function command(
    method: string,
    path: string,
    value: unknown,
    mayRefuse = false,
  ): Promise<void> {
    const answer = await send(`${gateway.url}/api/v1/${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...control },
      body: JSON.stringify(value),
    });
    expect([200, mayRefuse ? 409 : 200]).toContain(answer.status);
  }

  async function ask(request: Ask): Promise<Outcome> {
    stage.begin(request);
    const closed = started.filter(([id]) => request.meets[id] === 'refused');
    await Promise.all(closed.map(([, upstream]) => upstream.close()));
    const { status, upstream, reason } = await chat(gateway.url, bodyOf(request), {
      'x-gateway-force-zero': request.zero ? '1' : '0',
    });
    await Promise.all(closed.map(([, each]) => each.reopen()));
    // A refused connection is seen by nobody else.
    const attempts = gateway.host.snapshot().requests[0]?.attempts ?? [];
    return { status, upstream, reason, asked: attempts.map((attempt) => attempt.upstream) };
  }

  const world: World = {
    ticks: () => clock.ticks(),
    status: () => Promise.resolve(gateway.host.snapshot().status),
    async act(action: Action) {
      switch (action.kind) {
        case 'ask':
          return ask(action);
        case 'pass':
          clock.advance(action.ms);
          return null;
        case 'reset':
          await command('POST', `circuits/${action.id}/reset`, {});
          return null;
        case 'rekey':
          keys += 1;
          await command('PATCH', 'settings', { [action.id]: { apiKey: `key-${keys}` } });
          return null;
        case 'limits':
          await command('PATCH', 'settings', { circuit: action.limits });
          return null;
        case 'force_zero':
          await command('PATCH', 'settings', { routing: { forceZero: action.on } });
          return null;
        case 'prefer':
          await command('PUT', 'preference', { id: action.id }, true);
          return null;
      }
    },
  };
  await world.act({ kind: 'limits', limits: FIRST_LIMITS });
  return world;
}

function playing(stage: Stage, id: UpstreamId): Script {
  return (call) => {
    const met = stage.next(id);
    const error = ERRORS[met];
    if (error !== undefined) {
      const [status, message, headers] = error;
      return json(status, { error: { message } }, { ...headers })(call);
    }
    if (met === 'cut') return cut(CONTENT)(call);
    if (met === 'ok' || met === 'slow') return sse(CONTENT, REST)(call);
  };
}

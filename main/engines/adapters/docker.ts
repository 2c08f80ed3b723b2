import type { ModelFacts, ModelUse } from '#shared/models.ts';
import { listOf, memberOf, textOf } from '../../platform/json.ts';
import { detail, type Engine } from './adapter.ts';
import { idsIn, modelList } from './probe.ts';

const LIST_PATH = '/engines/v1/models';

/** Docker Model Runner runs several engines behind one address, all under `/engines`. */
export const dockerModelRunner: Engine = {
  kind: 'docker',
  ports: [12434],
  apiPath: '/engines',
  largerWindow: (tokens) =>
    `Run docker model configure --context-size ${tokens} with the name of the model.`,
  answersWhileBusy: true,
  async isAt(ask) {
    const models = modelList(await ask(LIST_PATH));
    if (models === null) return false;
    if (models.some(({ ownedBy }) => ownedBy === 'docker')) return true;
    return (await ask('/')).text.startsWith('Docker Model Runner');
  },
  async read(ask) {
    const list = await ask(LIST_PATH);
    const running = (await ask('/engines/ps')).json;
    const loaded = Array.isArray(running) ? idsIn(listOf(running), 'model_name') : null;
    const said = new Map(listOf(running).flatMap(saidOf));
    return detail(list, { loaded, said });
  },
};

/** A back end runs a model in one mode (docker/model-runner, pkg/inference). */
const USES: ReadonlyMap<string | null, ModelUse> = new Map([
  ['completion', 'chat'],
  ['embedding', 'embedding'],
  ['reranking', 'rerank'],
]);

function saidOf(backEnd: unknown): readonly (readonly [string, Partial<ModelFacts>])[] {
  const id = textOf(memberOf(backEnd, 'model_name'));
  const use = USES.get(textOf(memberOf(backEnd, 'mode')));
  return id === null || use === undefined ? [] : [[id, { use }]];
}

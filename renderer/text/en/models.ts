import { counted } from '../format.ts';
import { REQUESTS } from './nouns.ts';

export const models = {
  title: 'Models',
  subject: 'The models',
  text: (days: number) =>
    `Every model name that apps asked for in the last ${days} days, and where it went. A name that your engine does not have goes to the chat model it has loaded; map it to another here.`,
  list: 'Names that apps asked for',
  empty: 'No app has named a model yet.',
  columns: {
    name: 'Asked for',
    calls: 'Requests',
    last: 'Last',
    went: 'Went to',
    map: 'Alias for',
  },
  went: (where: string, model: string) => `${where}: ${model}`,
  itsOwn: 'its own model',
  nowhere: 'No answer',
  share: (calls: number) => ` (${counted(calls, REQUESTS)})`,
  mapOf: (name: string) => `Alias of ${name}`,
  noAlias: 'none',
  byPattern: (model: string) => `${model} (by a pattern)`,
  held: (variable: string) =>
    `${variable} is set in the environment, so aliases can be changed only there.`,
};

import { listOf, memberOf } from '../../../platform/json.ts';

/** The name of a function, and of its namespace if it is in one. */
export interface FunctionName {
  readonly name: string;
  readonly namespace?: string;
}

/** The name for chat completions, which have no namespaces. */
export const flatName = ({ namespace, name }: FunctionName): string =>
  namespace === undefined ? name : `${namespace}__${name}`;

/** The request's functions in namespaces, by their names for chat completions. */
export function namespacedFunctions(request: unknown): ReadonlyMap<string, FunctionName> {
  const names = new Map<string, FunctionName>();
  for (const tool of listOf(memberOf(request, 'tools'))) {
    const namespace = memberOf(tool, 'name');
    if (memberOf(tool, 'type') !== 'namespace' || typeof namespace !== 'string') continue;
    for (const inner of listOf(memberOf(tool, 'tools'))) {
      const name = memberOf(inner, 'name');
      if (typeof name === 'string') names.set(flatName({ namespace, name }), { namespace, name });
    }
  }
  return names;
}

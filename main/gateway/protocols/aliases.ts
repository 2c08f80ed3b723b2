/* `MODEL_ALIASES`: what the owner calls models, each as `name=model`; in a name, `*` stands for any text. */

interface Alias {
  readonly name: string;
  readonly model: string;
}

export function aliasOf(pair: string): Alias {
  const at = pair.indexOf('=');
  return { name: pair.slice(0, at), model: pair.slice(at + 1) };
}

/** Of the patterns the longest first. */
function aliasesIn(pairs: readonly string[]) {
  const all = pairs.map(aliasOf);
  const isPattern = ({ name }: Alias) => name.includes('*');
  return {
    exact: new Map(all.filter((each) => !isPattern(each)).map(({ name, model }) => [name, model])),
    patterns: all.filter(isPattern).toSorted((a, b) => b.name.length - a.name.length),
  };
}

interface AliasRequest {
  readonly name: string;
  /** An engine or a list of models of the owner has that very name; then no pattern takes it away. */
  readonly isOwn: (name: string) => boolean;
  /** Embeddings and the like, for which `*` alone does not mean. */
  readonly keepsModel: boolean;
}

/** The model that a name stands for: by its own alias, else by the longest pattern; null if there is none. */
export function aliased(
  pairs: readonly string[],
  { name, isOwn, keepsModel }: AliasRequest,
): string | null {
  if (pairs.length === 0) return null;
  const { exact, patterns } = aliasesIn(pairs);
  const own = exact.get(name);
  if (own !== undefined) return own;
  const pattern = patterns.find(
    (each) => !(keepsModel && each.name === '*') && matches(name, each.name),
  );
  return pattern === undefined || isOwn(name) ? null : pattern.model;
}

export function namedAliases(pairs: readonly string[]): Iterable<readonly [string, string]> {
  return aliasesIn(pairs).exact;
}

export function isAliasedModel(pairs: readonly string[], model: string): boolean {
  const { exact, patterns } = aliasesIn(pairs);
  return [...exact.values()].includes(model) || patterns.some((each) => each.model === model);
}

/** Each text between two stars is found where it comes first, so that no name takes long. */
export function matches(name: string, pattern: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return name === pattern;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}

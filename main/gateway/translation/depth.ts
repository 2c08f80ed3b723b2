/** Requests and answers have a dozen levels; from some 5000 on, V8 cannot write a value any more. */
const MAX_DEPTH = 1000;

/** True for a parsed value nested too deep to be written again. */
export function isTooDeep(value: unknown, levels = MAX_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((inner) => isTooDeep(inner, levels - 1));
}

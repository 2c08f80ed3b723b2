import { isObject } from '#shared/objects.ts';
import { isHeavyJson } from '../platform/json-weight.ts';

/** The value of a JSON text; null when it is none, or so much that parsing it would hold up everybody else. */
export function parseJson(text: string): unknown {
  if (isHeavyJson(text)) return null;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

/** A member of a JSON object, by the names that lead to it; undefined where there is none. */
export function memberOf(value: unknown, ...names: readonly string[]): unknown {
  return names.reduce<unknown>(
    (inner, name) => (isObject(inner) && Object.hasOwn(inner, name) ? inner[name] : undefined),
    value,
  );
}

/** A text that says something; null for anything else. */
export function textOf(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}

/** A finite number, also where a tool writes it as text; null for anything else. */
export function numberOf(value: unknown): number | null {
  if (typeof value === 'string' && value.trim() === '') return null;
  const number = typeof value === 'string' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : null;
}

/** The elements of a JSON array; none for anything else. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

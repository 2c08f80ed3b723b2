import { expect } from 'vitest';

/** Splits what came into the relayed part and the one error event that must end it. */
export function brokenOff(text: string): { readonly before: string; readonly code: unknown } {
  const at = text.lastIndexOf('data: {"error":');
  expect(at).toBeGreaterThanOrEqual(0);
  const event = text.slice(at);
  expect(event).toMatch(/^data: [^\n]+\n\n$/);
  expect(text).not.toContain('[DONE]');
  const body = JSON.parse(event.slice(6)) as { error: { code: unknown }; src: unknown };
  expect(body.src).toBe('gateway');
  return { before: text.slice(0, at), code: body.error.code };
}

import { expect } from 'vitest';
import type { SettingView } from '#shared/settings.ts';
import { type StatusReport, statusReportSchema } from '#shared/status.ts';
import { startGateway, type TestGateway } from './gateway.ts';
import { type HttpAnswer, send } from './http.ts';
import { controlOf } from './tier.ts';

/** What `GET /api/v1/settings` answers. */
export type Settings = Readonly<Record<string, Readonly<Record<string, SettingView>>>>;

/** A gateway and somebody who controls it. */
export interface Controlled extends TestGateway {
  readonly control: Readonly<Record<string, string>>;
  settings(): Promise<Settings>;
  patch(tree: unknown): Promise<HttpAnswer>;
  /** A patch that must be taken. */
  set(tree: unknown): Promise<Settings>;
  post(path: string, headers?: Readonly<Record<string, string>>): Promise<HttpAnswer>;
  /** The report, held against the strict schema. */
  status(headers?: Readonly<Record<string, string>>): Promise<StatusReport>;
}

/** Starts one, as `startGateway` does. */
export async function startControlled(
  ...args: Parameters<typeof startGateway>
): Promise<Controlled> {
  const gateway = await startGateway(...args);
  const { control, patch } = controlOf(gateway);
  const path = `${gateway.url}/api/v1/settings`;
  return {
    ...gateway,
    control,
    patch,
    async settings() {
      return JSON.parse((await send(path, { headers: control })).text) as Settings;
    },
    async set(tree) {
      const answer = await patch(tree);
      expect([answer.status, answer.text]).toEqual([200, expect.stringMatching(/^\{"local"/)]);
      return JSON.parse(answer.text) as Settings;
    },
    post: (route, headers = control) =>
      send(`${gateway.url}/api/v1/${route}`, { method: 'POST', headers }),
    async status(headers = control) {
      const answer = await send(`${gateway.url}/api/v1/status`, { headers });
      expect(answer.status).toBe(200);
      return statusReportSchema.parse(JSON.parse(answer.text));
    },
  };
}

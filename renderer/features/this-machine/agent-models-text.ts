import type { AgentModel, AgentView } from '#shared/agent.ts';
import {
  formatAge,
  formatCount,
  formatFileSize,
  formatMemory,
  formatMinute,
} from '../../text/format.ts';
import { t } from '../../text/t.ts';
import { engineName } from './agent-engine.ts';

const words = t.thisMachine.memory;

export function modelGroups(models: readonly AgentModel[]) {
  return {
    loaded: models.filter(({ loaded }) => loaded === true),
    others: models.filter(({ loaded }) => loaded !== true),
  };
}

/** What is known of a model, in words; nothing where it is unknown. */
export function modelDetail(model: AgentModel, nowMs: number): string {
  const { engine, use, loaded, loadedAt, sizeBytes, vramBytes, contextLength } = model;
  const parts = [
    engineName(engine),
    use === null || use === 'chat' ? null : words.uses[use],
    loaded === true && loadedAt !== null
      ? words.loaded(formatAge(Math.max(0, nowMs - loadedAt)))
      : null,
    vramBytes === null ? null : words.vram(formatMemory(vramBytes)),
    vramBytes === null && sizeBytes !== null ? formatFileSize(sizeBytes) : null,
    contextLength === null ? null : words.window(formatCount(contextLength)),
  ];
  return parts.filter((part) => part !== null).join(' · ');
}

/** Until when the memory is freed, for a sentence; null: until told. */
export function freedUntil({ freed }: AgentView['owner'], nowMs: number): string | null {
  const untilMs = freed?.untilMs ?? null;
  return untilMs === null ? null : formatMinute(untilMs, nowMs);
}

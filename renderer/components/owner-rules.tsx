import { useId } from 'react';
import type { AgentView } from '#shared/agent.ts';
import type { Control } from '../data/control.ts';
import { useWish } from '../hooks/use-wish.ts';
import { FIRST_LIMIT_C, ruleShown } from '../model/owner-rules.ts';
import { OwnerRule } from './owner-rule.tsx';
import { TemperatureLimit } from './temperature-limit.tsx';

interface OwnerRulesProps {
  readonly view: AgentView;
  readonly control: boolean;
  readonly onSave: Control['saveSettings'];
}

/** When this machine takes no requests although it is on; each rule is saved as it is switched. */
export function OwnerRules({ view, control, onSave }: OwnerRulesProps) {
  const titleId = useId();
  const shared = { view, control, onSave };
  return (
    <section className="owner-rules" aria-labelledby={titleId}>
      <h3 id={titleId}>When it pauses by itself</h3>
      <FlagRule {...shared} rule="onlyWhenIdle" />
      <FlagRule {...shared} rule="notOnBattery" />
      <FlagRule {...shared} rule="yieldToOthers" />
      <TemperatureRule {...shared} />
    </section>
  );
}

interface FlagRuleProps extends OwnerRulesProps {
  readonly rule: 'onlyWhenIdle' | 'notOnBattery' | 'yieldToOthers';
}

function FlagRule({ view: { owner }, control, onSave, rule }: FlagRuleProps) {
  const { shown, error, choose } = useWish(owner.rules[rule], (on: boolean) =>
    onSave({ agent: { [rule]: on } }),
  );
  return (
    <OwnerRule {...{ control, error }} shown={ruleShown(owner, rule, shown)} onChange={choose} />
  );
}

function TemperatureRule({ view: { owner }, control, onSave }: OwnerRulesProps) {
  const { shown, error, choose } = useWish<number | string | null>(
    owner.rules.maxGpuTemperatureC,
    (limit) => onSave({ agent: { maxGpuTemperatureC: limit } }),
  );
  const rule = ruleShown(owner, 'maxGpuTemperatureC', shown !== null);
  return (
    <OwnerRule
      {...{ control, error }}
      shown={rule}
      onChange={(on) => choose(on ? FIRST_LIMIT_C : null)}
    >
      <TemperatureLimit
        limit={shown ?? FIRST_LIMIT_C}
        disabled={!control || rule.isHeld || !rule.isOn}
        isRefused={error !== null}
        onLimit={choose}
      />
    </OwnerRule>
  );
}

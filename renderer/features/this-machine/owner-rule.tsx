import { useId, type ReactNode } from 'react';
import type { RuleShown } from './owner-rules-model.ts';
import { ErrorText } from '../../ui/error-text.tsx';
import { READ_ONLY_NOTE } from '../../ui/read-only-note.tsx';
import { Switch } from '../../ui/switch.tsx';
import { t } from '../../text/t.ts';

interface OwnerRuleProps {
  readonly shown: RuleShown;
  /** The environment variable of its setting; null if the settings cannot be read. */
  readonly variable: string | null;
  readonly control: boolean;
  /** Why the gateway refused the last change. */
  readonly error: string | null;
  readonly onChange: (on: boolean) => void;
  readonly children?: ReactNode;
}

const words = t.thisMachine.rules;

export function OwnerRule({ shown, variable, control, error, onChange, children }: OwnerRuleProps) {
  const { row, isOn, isHeld, ineffective } = shown;
  const noteId = useId();
  return (
    <div className="rule">
      <div className="rule-head">
        <Switch
          label={row.label}
          on={isOn}
          disabled={!control || isHeld}
          describedBy={control ? noteId : `${noteId} ${READ_ONLY_NOTE}`}
          onChange={onChange}
        />
        {children}
      </div>
      <p id={noteId} className="quiet">
        <span data-ineffective={(isOn && ineffective !== null) || undefined}>
          {ineffective ?? row.hint}
        </span>
        {isHeld && words.held(variable === null ? words.anyVariable : <code>{variable}</code>)}
      </p>
      <ErrorText text={error} />
    </div>
  );
}

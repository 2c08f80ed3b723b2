import { useId } from 'react';
import type { UpstreamId } from '#shared/ids.ts';
import * as t from '../../text/t.ts';
import { ErrorText, Switch } from '../../ui/fields.tsx';
import { useOptimisticValue } from '../../ui/use-optimistic-value.ts';
import { useWindow } from '../../window-context.ts';
import type { UpstreamList } from './upstream-list.ts';

const words = t.overview.rules;

export function RoutingRules({ list }: { readonly list: UpstreamList }) {
  const { data } = useWindow();
  const { forceZero } = data.status;
  const at = (id: UpstreamId) => list.upstreams.find(({ report }) => report.id === id);
  const last = at('ondemand');
  const local = at('local')?.report.label ?? '';
  const others = list.upstreams.filter(({ report }) => report.id !== 'local');
  const hasPaid = others.some(({ condition }) => condition.kind !== 'missing');
  const paid = hasPaid ? words.paidMayAnswer(local) : words.noPaid;
  return (
    <div className="rules">
      <Rule
        section="routing"
        setting="forceZero"
        label={words.forceZero}
        on={forceZero}
        hint={forceZero ? words.onlyLocal(local) : paid}
      />
      {last && last.condition.kind !== 'missing' && (
        <Rule
          section="ondemand"
          setting="warmup"
          label={words.warmUp}
          on={data.app.warmupEnabled}
          hint={warmupHint(last.report.label, forceZero, data.app.warmupEnabled)}
        />
      )}
    </div>
  );
}

function warmupHint(label: string, forceZero: boolean, on: boolean): string {
  if (forceZero) return words.warmUpOff;
  return on ? words.warmsUp(label) : words.startsLate(label);
}

interface RuleProps {
  readonly section: string;
  readonly setting: string;
  readonly label: string;
  readonly on: boolean;
  readonly hint: string;
}

function Rule({ section, setting, label, on, hint }: RuleProps) {
  const { control, settings, actions } = useWindow();
  const hintId = useId();
  const { shown, error, choose } = useOptimisticValue(on, (next: boolean) =>
    actions.saveSettings({ [section]: { [setting]: next } }),
  );
  const known = settings.kind === 'read' ? settings.view[section]?.[setting] : undefined;
  const held = known?.source === 'env';
  return (
    <div className="rule">
      <Switch
        label={label}
        on={shown}
        disabled={!control || held}
        describedBy={hintId}
        onChange={choose}
      />
      <p id={hintId} className="quiet">
        {held ? words.held(known.env) : hint}
      </p>
      <ErrorText text={error} />
    </div>
  );
}

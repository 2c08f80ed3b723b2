import { MODELS } from '../../text/en/nouns.ts';
import { counted } from '../../text/format.ts';
import { useId, useState } from 'react';
import type { AgentModel, AgentView } from '#shared/agent.ts';
import { ControlButton } from '../../ui/buttons.tsx';
import { ErrorText } from '../../ui/fields.tsx';
import { useAttempt } from '../../ui/use-optimistic-value.ts';
import { useWindow } from '../../window-context.ts';
import { modelDetail, modelGroups } from './agent-text.ts';

interface ModelsHereProps {
  readonly view: AgentView;
  readonly serverNow: number;
  readonly onTaken: () => void;
}

export function ModelsHere({ view, serverNow, onTaken }: ModelsHereProps) {
  const titleId = useId();
  const { agent } = useWindow();
  const [pending, setPending] = useState<string | null>(null);
  const { error, attempt } = useAttempt();
  const isMoving = pending !== null || isBetween(view.memory.state);

  const order = async (name: string, send: () => ReturnType<typeof agent.free>) => {
    if (isMoving) return;
    setPending(name);
    await attempt(send());
    setPending(null);
    onTaken();
  };
  const change = ({ id, loaded }: AgentModel) => {
    const action = loaded === true ? 'unload' : 'load';
    void order(id, () => agent.changeModel(id, action));
  };

  const freeButton = (word: string, minutes: number | null) => (
    <ControlButton
      aria-disabled={isMoving || undefined}
      onClick={() => void order('', () => agent.free(minutes))}
    >
      {word}
    </ControlButton>
  );
  const { loaded, others } = modelGroups(view.models);
  const { owner, engine, record } = view;
  const what = record.gpu.count === 0 ? 'memory' : 'GPU';
  if (view.models.length === 0) return null;
  const rowsOf = (models: readonly AgentModel[]) =>
    models.map((model) => (
      <ModelRow
        key={`${model.baseUrl} ${model.id}`}
        model={model}
        detail={modelDetail(model, serverNow)}
        isBusy={isMoving}
        isPending={pending === model.id}
        isFreed={view.memory.state === 'freed'}
        onChange={() => change(model)}
      />
    ));
  return (
    <section className="models-here" aria-labelledby={titleId}>
      <header>
        <h3 id={titleId}>Models in memory</h3>
        {(owner.freed !== null || engine?.health.status === 'ok') && (
          <div className="row machine-actions free-actions">
            {freeButton(owner.freed === null ? `Free the ${what}` : 'Free it again', null)}
            {freeButton('Free it for 2 h', TWO_HOURS_MIN)}
            <p className="quiet">
              Unloads all models for a game or another program. Other sources answer meanwhile;
              Resume loads the same models again.
            </p>
          </div>
        )}
      </header>
      {loaded.length === 0 ? <p className="quiet">None is loaded.</p> : <ul>{rowsOf(loaded)}</ul>}
      {others.length > 0 && (
        <details>
          <summary>{`${counted(others.length, MODELS)} not in memory`}</summary>
          <ul>{rowsOf(others)}</ul>
        </details>
      )}
      <ErrorText text={error} />
    </section>
  );
}

const TWO_HOURS_MIN = 120;

interface ModelRowProps {
  readonly model: AgentModel;
  readonly detail: string;
  readonly isBusy: boolean;
  readonly isPending: boolean;
  readonly isFreed: boolean;
  readonly onChange: () => void;
}

function ModelRow({ model, detail, isBusy, isPending, isFreed, onChange }: ModelRowProps) {
  const { id, loaded, canUnload } = model;
  const word = loaded === true ? 'Unload' : 'Load';
  return (
    <li>
      <span>{id}</span>
      <span className="quiet">{detail}</span>
      {canUnload && loaded !== null && !(isFreed && !loaded) && (
        <ControlButton aria-disabled={isBusy || undefined} onClick={onChange}>
          {isPending ? 'Working…' : word}
          <span className="unseen"> {id}</span>
        </ControlButton>
      )}
    </li>
  );
}

const isBetween = (state: AgentView['memory']['state']) => state !== 'kept' && state !== 'freed';

import type { Provider as ProviderRecord } from '#shared/provider.ts';
import { useCallback, useEffect, useRef } from 'react';
import { CopyButton } from '../../ui/copy-button.tsx';
import { ProviderOrders } from './provider-actions.tsx';
import { OwnNote } from './own-note.tsx';
import { ProviderPanels } from './provider-panels.tsx';
import { ReadOnlyNote } from '../../ui/read-only-note.tsx';
import { Unreadable } from '../../ui/unreadable.tsx';
import type { Agent } from '../../api/agent.ts';
import type { LiveData } from '../../api/live-data.ts';
import { NO_NOTE, type ProviderDetail, type Providers as Registry } from '../../api/providers.ts';
import { useReading } from '../../ui/use-reading.ts';
import { useSeconds } from '../../ui/use-seconds.ts';
import { directMachine } from '../this-machine/agent-engine.ts';
import { isRechecked, standingOf } from './provider-standing.ts';
import { providerName, providerWords } from './provider-text.ts';
import { hashOf } from '../../route.ts';
import { StateWord } from '../../ui/state-word.tsx';
import type { StateText } from '../../text/en/states.ts';
import { t } from '../../text/t.ts';

interface ProviderProps {
  readonly id: string;
  readonly data: LiveData;
  readonly control: boolean;
  readonly frozenAt: number | null;
  readonly registry: Registry;
  readonly agent: Agent;
}

const LIST = hashOf({ page: 'providers', filter: 'all' });

/** The page of one machine. */
export function Provider({ id, data, control, frozenAt, registry, agent }: ProviderProps) {
  const read = useCallback(() => registry.readOne(id), [registry, id]);
  const { value, failure, again } = useReading(read, data.providers?.revision ?? null, null);
  const listed = registry.lastList()?.data.find((provider) => provider.id === id);
  const provider = value?.provider ?? listed;
  const serverNow = useSeconds(frozenAt) + data.skewMs;

  if (failure?.status === 404) return <Unknown id={id} />;
  if (!provider) {
    if (!failure || frozenAt !== null) return <p className="connecting">{t.shell.reading}</p>;
    return (
      <>
        <h1>{t.providers.machine}</h1>
        <Unreadable
          what={t.providers.theMachine}
          message={failure.refusal.message}
          onRetry={again}
        />
      </>
    );
  }
  return (
    <Known
      {...{ id, provider, data, control, serverNow, registry, agent, again }}
      history={value === null ? [] : value.history}
      note={value?.note ?? null}
    />
  );
}

interface KnownProps extends Omit<ProviderProps, 'frozenAt'> {
  readonly provider: ProviderRecord;
  readonly history: ProviderDetail['history'];
  /** Null until it has been read. */
  readonly note: ProviderDetail['note'] | null;
  readonly serverNow: number;
  readonly again: () => void;
}

function Known(props: KnownProps) {
  const { id, provider, data, control, serverNow, registry, agent, again, history } = props;
  const { stats } = data.status;
  const isDirect = directMachine(agent.last(), data.status) === id;
  const standing = standingOf(provider, stats.providerCircuits[id], isDirect);
  const { tone, word, means, what, todo } = providerWords(standing, serverNow);
  const note = props.note ?? registry.lastList()?.notes[id] ?? NO_NOTE;
  const name = note.name || providerName(provider);
  return (
    <>
      <div className="provider-head" data-tone={tone}>
        <div aria-live="polite">
          <Back />
          <Title key={id} {...{ name, word, means }} />
          <p className="provider-says">
            {what !== null && <strong>{what}</strong>} {todo}
            {isRechecked(provider, standing) && <em>{t.providers.rechecked}</em>}
          </p>
        </div>
        <ProviderOrders
          {...{ id, name, control }}
          checking={provider.verification.status === 'verifying'}
          actions={registry}
          onVerifying={again}
          onRemoved={() => location.assign(LIST)}
        />
        <p className="provider-id">
          <code>{id}</code>
          <CopyButton text={id} what={t.providers.id} />
        </p>
        {!control && <ReadOnlyNote />}
      </div>
      {props.note !== null && (
        <OwnNote
          key={`${id} ${note.name} ${note.note}`}
          {...{ note, control }}
          hostname={providerName(provider)}
          onSave={async (next) => {
            const refusal = await registry.setNote(id, next);
            if (refusal === null) again();
            return refusal;
          }}
        />
      )}
      <ProviderPanels
        provider={provider}
        history={history}
        circuit={stats.providerCircuits[id]}
        latencies={stats.providerLatencies[id]}
        statusAge={{ elapsedMs: Math.max(0, serverNow - data.skewMs - data.statusAt), serverNow }}
      />
    </>
  );
}

function Back() {
  return (
    <a className="back" href={LIST}>
      {t.providers.all}
    </a>
  );
}

function Title({ name, word, means }: StateText & { readonly name: string }) {
  const title = useRef<HTMLHeadingElement>(null);
  // The row that had the focus is gone, so keyboard users continue from the top.
  useEffect(() => title.current?.focus(), []);
  return (
    <h1 ref={title} tabIndex={-1}>
      {name} <StateWord {...{ word, means }} />
    </h1>
  );
}

function Unknown({ id }: { readonly id: string }) {
  return (
    <section className="panel empty">
      <h1>{t.providers.unknownTitle}</h1>
      <p>{t.providers.unknownText(id)}</p>
      <Back />
    </section>
  );
}

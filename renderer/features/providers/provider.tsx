import { type ChangeEvent, useCallback, useEffect, useId, useRef, useState } from 'react';
import type { Provider as ProviderRecord } from '#shared/provider.ts';
import { NOTE_LIMITS, type ProviderNote } from '#shared/provider-notes.ts';
import type { Refusal } from '../../api/client.ts';
import { NO_NOTE, type ProviderDetail } from '../../api/providers.ts';
import { hashOf } from '../../route.ts';
import type { StateText } from '../../text/en/states.ts';
import * as t from '../../text/t.ts';
import { Button, ControlButton, CopyButton, READ_ONLY_NOTE } from '../../ui/buttons.tsx';
import { ErrorText, Form } from '../../ui/fields.tsx';
import { ConfirmButton } from '../../ui/modal.tsx';
import { StateWord, Unreadable } from '../../ui/facts.tsx';
import { useReading } from '../../ui/use-reading.ts';
import { useAttempt } from '../../ui/use-optimistic-value.ts';
import { useServerNow, useWindow } from '../../window-context.ts';
import { directMachine, ownMachine } from '../this-machine/agent-engine.ts';
import { ProviderPanels } from './provider-panels.tsx';
import {
  isRechecked,
  namesOf,
  providerName,
  providerWords,
  standingOf,
} from './provider-standing.ts';

const LIST = hashOf({ page: 'providers', filter: 'all' });

export function Provider({ id }: { readonly id: string }) {
  const { data, frozenAt, registry } = useWindow();
  const read = useCallback(() => registry.readOne(id), [registry, id]);
  const { value, failure, again } = useReading(read, data.providers.revision, null);
  const listed = registry.lastList()?.data.find((provider) => provider.id === id);
  const provider = value?.provider ?? listed;
  const serverNow = useServerNow();

  if (failure?.status === 404) {
    return (
      <section className="panel empty">
        <h1>This machine is not known here</h1>
        <p>
          No machine has the id <code>{id}</code>. It was removed, or has not reported for 30 days.
        </p>
        <Back />
      </section>
    );
  }
  if (!provider) {
    if (!failure || frozenAt !== null) return <p className="connecting">{t.shell.reading}</p>;
    return (
      <>
        <h1>Machine</h1>
        <Unreadable what="This machine" message={failure.refusal.message} onRetry={again} />
      </>
    );
  }
  return (
    <Machine
      {...{ id, provider, serverNow, again }}
      history={value === null ? [] : value.history}
      note={value?.note ?? null}
    />
  );
}

interface MachineProps {
  readonly id: string;
  readonly provider: ProviderRecord;
  readonly history: ProviderDetail['history'];
  /** Null until it has been read. */
  readonly note: ProviderDetail['note'] | null;
  readonly serverNow: number;
  readonly again: () => void;
}

function Machine(props: MachineProps) {
  const { id, provider, serverNow, again, history } = props;
  const { data, registry, agent } = useWindow();
  const { stats } = data.status;
  const { value: here } = useReading(agent.read, null, agent.last());
  const isDirect = directMachine(here, data.status) === id;
  const standing = standingOf(provider, stats.providerCircuits[id], isDirect);
  const { tone, word, means, what, todo } = providerWords(standing, serverNow);
  const list = registry.lastList();
  const note = props.note ?? list?.notes[id] ?? NO_NOTE;
  const others = list?.data.filter((one) => one.id !== id) ?? [];
  const names = namesOf({ data: [...others, provider], notes: { ...list?.notes, [id]: note } });
  const name = names.get(id) ?? '';
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
        <ProviderActions
          {...{ id, name }}
          checking={provider.verification.status === 'verifying'}
          onVerifying={again}
        />
        <p className="provider-id">
          {ownMachine(here) === id && <strong>{t.providers.here} · </strong>}
          <code className="one-line">{id}</code>
          <CopyButton text={id} what="machine id" />
        </p>
      </div>
      {props.note !== null && (
        <OwnNote
          key={`${id} ${note.name} ${note.note}`}
          note={note}
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

const Back = () => (
  <a className="back quiet" href={LIST}>
    All machines
  </a>
);

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

interface OwnNoteProps {
  readonly note: ProviderNote;
  readonly hostname: string;
  readonly onSave: (note: ProviderNote) => Promise<Refusal | null>;
}

function OwnNote({ note, hostname, onSave }: OwnNoteProps) {
  const { control } = useWindow();
  const [draft, setDraft] = useState(note);
  const { error, attempt } = useAttempt();
  const id = useId();
  const isChanged = draft.name !== note.name || draft.note !== note.note;
  const field = (key: keyof ProviderNote) => ({
    id: `${id}-${key}`,
    value: draft[key],
    maxLength: NOTE_LIMITS[key],
    readOnly: !control,
    'aria-describedby': control ? undefined : READ_ONLY_NOTE,
    onChange: ({ target }: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) =>
      setDraft({ ...draft, [key]: target.value }),
  });
  return (
    <Form
      className="panel own-note"
      aria-label="Name and note"
      onSend={() => attempt(onSave(draft))}
    >
      <label htmlFor={`${id}-name`}>Your name for it</label>
      <input {...field('name')} placeholder={hostname} autoComplete="off" />
      <label htmlFor={`${id}-note`}>Note</label>
      <textarea {...field('note')} rows={2} />
      <Button type="submit" disabled={!control || !isChanged}>
        {t.settings.save.save}
      </Button>
      <ErrorText text={error} />
    </Form>
  );
}

interface ProviderActionsProps {
  readonly id: string;
  readonly name: string;
  readonly checking: boolean;
  readonly onVerifying: () => void;
}

function ProviderActions({ id, name, checking, onVerifying }: ProviderActionsProps) {
  const { registry } = useWindow();
  const { error, attempt } = useAttempt();

  const verify = async (): Promise<void> => {
    if (await attempt(registry.verify(id))) onVerifying();
  };
  const remove = async (): Promise<void> => {
    if (await attempt(registry.remove(id))) location.assign(LIST);
  };

  return (
    <div className="row provider-actions">
      <ControlButton
        aria-disabled={checking || undefined}
        onClick={() => void (checking ? undefined : verify())}
      >
        {checking ? 'Testing…' : 'Test now'}
      </ControlButton>
      <ConfirmButton
        asks={`Remove ${name}?`}
        text="It gets no more requests from this gateway, and its history is deleted. To come back, it has to join again with a new join command."
        action={`Remove ${name}`}
        onConfirm={remove}
      >
        Remove…
      </ConfirmButton>
      <ErrorText text={error} />
    </div>
  );
}

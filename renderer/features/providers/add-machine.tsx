import { useEffect, useState } from 'react';
import type { Provider } from '#shared/provider.ts';
import type { Answer } from '../../api/call.ts';
import type { Enrollment, Providers } from '../../api/providers.ts';
import { JoinSteps } from './join-steps.tsx';
import { gatewayOf, joinNoteOf } from './provider-join.ts';
import { providerName } from './provider-text.ts';
import { hashOf } from '../../route.ts';
import { ErrorText } from '../../ui/error-text.tsx';
import { JoinWarning } from './join-warning.tsx';
import { Modal } from '../../ui/modal.tsx';
import { t } from '../../text/t.ts';

interface AddMachineProps {
  readonly enroll: Providers['enroll'];
  readonly readInstall: Providers['readInstall'];
  readonly known: readonly Provider[];
  readonly serverNow: number;
  readonly onClose: () => void;
}

export function AddMachine({ enroll, readInstall, known, serverNow, onClose }: AddMachineProps) {
  const [before] = useState(() => new Set(known.map(({ id }) => id)));
  const [answer, setAnswer] = useState<Answer<Enrollment> | null>(null);
  const pageNote = joinNoteOf(location.href);
  const asksFirst = pageNote === 'plain-http';
  const joined = known.find(({ id }) => !before.has(id));

  useEffect(() => {
    if (!asksFirst) void enroll().then(setAnswer);
  }, [asksFirst, enroll]);
  const make = (): void => void enroll().then(setAnswer);
  const enrollment = answer?.ok ? answer.value : null;
  const error = answer && !answer.ok ? answer.refusal.message : null;

  const note = enrollment ? joinNoteOf(gatewayOf(enrollment.join) ?? location.href) : pageNote;
  return (
    <Modal title={t.joining.title} closing={t.shell.close} onClose={onClose}>
      <JoinWarning note={note} certain={enrollment !== null} />
      {enrollment ? (
        <JoinSteps {...{ enrollment, readInstall, serverNow }} onRenew={make} />
      ) : (
        asksFirst && (
          <button type="button" className="button" data-primary onClick={make}>
            {t.joining.plainHttp}
          </button>
        )
      )}
      {!enrollment && !asksFirst && error === null && <p className="quiet">{t.joining.creating}</p>}
      <ErrorText text={error} />
      {error !== null && (
        <button type="button" className="button" onClick={make}>
          {t.shell.tryAgain}
        </button>
      )}
      <output className="joined">
        {joined &&
          t.joining.joined(providerName(joined), (text) => (
            <a href={hashOf({ page: 'provider', id: joined.id })}>{text}</a>
          ))}
      </output>
    </Modal>
  );
}

import { useState } from 'react';
import type { AgentView, DoctorReport } from '#shared/agent.ts';
import type { Check } from '#shared/provider.ts';
import type { Agent } from '../../api/agent.ts';
import { doctorTable } from './doctor-table.ts';
import { DoctorRows } from './doctor-rows.tsx';
import { ErrorText } from '../../ui/error-text.tsx';
import { ControlButton } from '../../ui/read-only-note.tsx';
import { t } from '../../text/t.ts';

interface DoctorProps {
  readonly view: AgentView;
  /** The registry's results; empty if it does not know the machine. */
  readonly checks: readonly Check[];
  readonly control: boolean;
  readonly examine: Agent['examine'];
}

type Exam =
  | { readonly kind: 'none' | 'running' }
  | { readonly kind: 'done'; readonly report: DoctorReport }
  | { readonly kind: 'failed'; readonly message: string };

/** Runs the gateway's checks on this machine and shows both results side by side. */
export function Doctor({ view, checks, control, examine }: DoctorProps) {
  const [exam, setExam] = useState<Exam>({ kind: 'none' });
  const isRunning = exam.kind === 'running';
  const table = exam.kind === 'done' ? doctorTable(exam.report, view, checks) : null;

  const run = async (): Promise<void> => {
    if (isRunning) return;
    setExam({ kind: 'running' });
    const answer = await examine();
    setExam(
      answer.ok
        ? { kind: 'done', report: answer.value }
        : { kind: 'failed', message: answer.refusal.message },
    );
  };

  return (
    <section className="doctor" aria-labelledby="doctor-title">
      <header>
        <h3 id="doctor-title">{t.doctor.title}</h3>
        <output className="quiet">
          {isRunning ? t.doctor.running : (table?.says ?? t.doctor.about)}
        </output>
        <ControlButton
          control={control}
          aria-disabled={isRunning || undefined}
          onClick={() => void run()}
        >
          {exam.kind === 'none' ? t.doctor.run : t.doctor.again}
        </ControlButton>
      </header>
      {exam.kind === 'failed' && <ErrorText text={exam.message} />}
      {table !== null && <DoctorRows rows={table.rows} />}
    </section>
  );
}

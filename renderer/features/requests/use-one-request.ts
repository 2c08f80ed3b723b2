import { useEffect, useState } from 'react';
import type { RequestRow } from '#shared/live.ts';
import type { Requests } from '../../api/requests.ts';
import { t } from '../../text/t.ts';

interface OneRequest {
  readonly row: RequestRow | null;
  /** Why the request is unknown; null while it is being read. */
  readonly note: string | null;
}

/** A request from the list; one that is not, or no longer, in the list is read from the gateway. */
export function useOneRequest(
  { readOne }: Requests,
  id: string | null,
  listed: RequestRow | undefined,
): OneRequest {
  const [known, setKnown] = useState<{ readonly id: string; readonly one: OneRequest } | null>(
    null,
  );
  // Kept, so that it stays readable when it leaves the list.
  if (listed !== undefined && listed !== known?.one.row) {
    setKnown({ id: listed.id, one: { row: listed, note: null } });
  }
  const isUnknown = id !== null && known?.id !== id;
  useEffect(() => {
    if (!isUnknown) return undefined;
    let isOver = false;
    const read = async () => {
      const answer = await readOne(id);
      if (isOver) return;
      if (answer.ok) setKnown({ id, one: { row: answer.value, note: null } });
      else setKnown({ id, one: { row: null, note: noteOn(answer) } });
    };
    void read();
    return () => {
      isOver = true;
    };
  }, [readOne, id, isUnknown]);
  return known?.id === id ? known.one : BEING_READ;
}

const BEING_READ: OneRequest = { row: null, note: null };

function noteOn({
  status,
  refusal,
}: Extract<Awaited<ReturnType<Requests['readOne']>>, { ok: false }>): string {
  return status === 404 ? t.requestDetails.unknown : refusal.message;
}

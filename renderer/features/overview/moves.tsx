import { inSentence } from '#shared/services.ts';
import { hashOf } from '../../route.ts';
import { TIMES } from '../../text/en/nouns.ts';
import { counted, formatMoney } from '../../text/format.ts';
import { useWindow } from '../../window-context.ts';
import { appName } from '../requests/request-text.ts';

/** Requests that always move on from an upstream, for words that nothing here explains; empty if there are none. */
export function Moves() {
  const { moves, status, app: gateway } = useWindow().data;
  return moves.map(({ upstream, words, caller, key, count, spentNano }) => {
    const label = status.upstreams.find(({ id }) => id === upstream)?.label ?? upstream;
    const app = key ?? appName({ caller }) ?? 'an app';
    const cost = spentNano === 0 ? '' : `, for ${formatMoney(spentNano, gateway.currency)}`;
    const by = { upstream, text: words };
    return (
      <p className="notice" key={`${upstream} ${words} ${app}`}>
        <strong>{`These requests always move on from ${inSentence(label)}: ${words}`}</strong>{' '}
        {`From ${app}, at least ${counted(count, TIMES)} in the last hour${cost}. `}
        <a href={hashOf({ page: 'requests', filter: 'all', by })}>Show them</a>
      </p>
    );
  });
}

import { t } from '../../text/t.ts';

const words = t.providers.noneYet;

export function NoProviders() {
  return (
    <section className="panel empty" aria-labelledby="no-providers">
      <h2 id="no-providers">{words.title}</h2>
      <p>{words.text}</p>
      <dl className="ways">
        <div>
          <dt>{words.this}</dt>
          <dd>{words.thisText}</dd>
        </div>
        <div>
          <dt>{words.other}</dt>
          <dd>{words.otherText}</dd>
        </div>
      </dl>
    </section>
  );
}

import { t } from '../../text/t.ts';

/** Says that this is the demo. */
export function DemoNote() {
  return (
    <p className="line-note">
      <strong className="demo-badge">{t.overview.demo.badge}</strong>
      <span>{t.overview.demo.text}</span>
    </p>
  );
}

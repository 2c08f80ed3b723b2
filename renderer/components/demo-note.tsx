import type { DemoFault } from '#shared/live.ts';
import type { UpstreamId } from '#shared/ids.ts';

/** Sets what a demo upstream does; answers what went wrong, or null. */
export type SetFault = (id: UpstreamId, fault: DemoFault) => Promise<string | null>;

/** Says that this is the demo, and how to take control of its switches. */
export function DemoNote({ control }: { readonly control: boolean }) {
  return (
    <p className="demo-note">
      <strong className="demo-badge">Demo</strong>
      <span>
        These upstreams are simulated and their answers are canned text. Break one and watch where
        requests go.
        {!control && (
          <>
            {' '}
            <strong>This page is read-only:</strong> run <code>npx switchyard open</code> on this
            machine to take control.
          </>
        )}
      </span>
    </p>
  );
}

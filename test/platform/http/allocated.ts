import { Session, type HeapProfiler } from 'node:inspector';

/** Newer than its types: what the collector takes away meanwhile counts as well. */
const SAMPLING: HeapProfiler.StartSamplingParameterType & Readonly<Record<string, unknown>> = {
  samplingInterval: 4096,
  includeObjectsCollectedByMajorGC: true,
  includeObjectsCollectedByMinorGC: true,
};

/**
 * Bytes of heap that `work` takes, garbage included: an estimate from samples, good enough to tell growth in
 * proportion from growth with the square.
 */
export function allocatedBytes(work: () => void): number {
  const session = new Session();
  session.connect();
  session.post('HeapProfiler.startSampling', SAMPLING);
  work();
  let bytes = 0;
  session.post('HeapProfiler.stopSampling', (_error, { profile }) => {
    bytes = bytesBelow(profile.head);
  });
  session.disconnect();
  return bytes;
}

function bytesBelow(node: HeapProfiler.SamplingHeapProfileNode): number {
  return node.children.reduce((sum, child) => sum + bytesBelow(child), node.selfSize);
}

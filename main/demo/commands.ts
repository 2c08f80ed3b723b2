import { UPSTREAM_IDS } from '#shared/ids.ts';
import { DEMO_FAULTS } from '#shared/live.ts';
import { isDemoFault, isUpstreamId, type Faults } from './fault-routes.ts';

export const COMMAND_HELP = `break <upstream> [${DEMO_FAULTS.filter((fault) => fault !== 'none').join('|')}]   heal <upstream>|all`;

/** Does what a line typed into the demo says; what came of it comes back as text. */
export async function runCommand(line: string, faults: Faults): Promise<string> {
  const [verb = '', id = '', fault = 'refuse'] = line.trim().split(/\s+/);
  if (verb === '') return '';
  if (verb === 'heal' && id === 'all') {
    for (const each of UPSTREAM_IDS) await faults.set(each, 'none');
    return 'all upstreams are healthy';
  }
  if (verb === 'heal' && isUpstreamId(id)) {
    await faults.set(id, 'none');
    return `${id} is healthy`;
  }
  if (verb === 'break' && isUpstreamId(id) && isDemoFault(fault)) {
    await faults.set(id, fault);
    return `${id}: ${fault}`;
  }
  return `Not understood. ${COMMAND_HELP}   (upstreams: ${UPSTREAM_IDS.join(', ')})`;
}

import type * as Electron from 'electron';
import type { StartTool, ToolEnd } from '../agent/telemetry/tool-process.ts';

/**
 * Runs one of our files in an Electron utility process: the app's executable cannot run files as Node does (`runAsNode`
 * in electron-builder.yml). The file answers with one message; output written just before its exit could get lost.
 */
export function createUtilityHelper(
  utilityProcess: Pick<typeof Electron.utilityProcess, 'fork'>,
  env: Record<string, string>,
  killProcess: (pid: number, signal: 'SIGKILL') => unknown = process.kill.bind(process),
): StartTool {
  return (file, args, onData) => {
    const child = utilityProcess.fork(file, [...args], { env, stdio: 'ignore' });
    let isOver = false;
    const { promise: ended, resolve } = Promise.withResolvers<ToolEnd>();
    function kill(): void {
      // Electron's own `kill` is only a request, which a blocked helper never sees.
      try {
        if (!isOver && child.pid !== undefined) killProcess(child.pid, 'SIGKILL');
      } catch {
        // The process has just exited.
      }
    }
    child.on('message', (answer) => {
      if (typeof answer === 'string') onData(Buffer.from(answer));
      kill();
      resolve({ kind: 'exited', code: 0, stderr: '' });
    });
    child.on('exit', (code) => {
      isOver = true;
      resolve({ kind: 'exited', code, stderr: '' });
    });
    return { ended, kill };
  };
}

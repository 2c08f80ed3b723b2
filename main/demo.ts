import { runDemo } from './demo/demo.ts';

await runDemo();
